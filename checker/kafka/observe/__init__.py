"""Matches what was recorded of a real cluster against the model."""
