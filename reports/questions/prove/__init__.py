"""Proofs: document and screen."""
