"""Precomputed answers: built, shown and looked up."""
