"""Reads what was recorded of a real partition from files into one history; does not judge it."""
