"""Inputs, corpora and claims."""
