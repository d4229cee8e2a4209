"""Scenarios and claims, as a document and a page."""
