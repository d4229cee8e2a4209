"""The HTML and Markdown pages and their drawings; never a verdict of their own."""
