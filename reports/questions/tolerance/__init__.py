"""`tolerance`: the table of faults that a configuration survives; document, page and screen."""
