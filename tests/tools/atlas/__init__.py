"""Builds the file of answers that the package ships, and counts what it covers: `python -m tests.tools.atlas build|count`."""
