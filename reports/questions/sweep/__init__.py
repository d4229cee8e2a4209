"""A matrix: typed result and screen."""
