"""How likely a loss is: bounds, what improves them, document, page and screen."""
