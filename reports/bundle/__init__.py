"""Evidence bundles: sealed, and verified again offline."""
