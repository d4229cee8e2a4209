"""Levels on disk."""
