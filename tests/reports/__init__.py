"""The program as its users see it."""
