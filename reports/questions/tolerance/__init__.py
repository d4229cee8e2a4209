"""The table of what is survived: document, page and screen."""
