"""`check` and `explore`, and the changes that would help."""
