"""Exporting a bound model for the tools of others."""
