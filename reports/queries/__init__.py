"""Queries over exported states."""
