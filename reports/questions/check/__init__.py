"""`check` and `explore`, and the configuration changes that would help."""
