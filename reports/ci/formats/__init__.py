"""A module for each format: `FILE` is the name of the file that it writes, `render` returns its text."""
