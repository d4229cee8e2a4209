"""The typed results that the Python functions return."""
