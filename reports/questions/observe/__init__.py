"""A history held against the model: document and screen."""
