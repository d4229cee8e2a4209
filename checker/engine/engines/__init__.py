"""The engines by name: a search in memory, in columns only, or with Spark; never what one of its parts does."""
