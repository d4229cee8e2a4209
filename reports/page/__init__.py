"""The HTML and Markdown pages and their drawings."""
