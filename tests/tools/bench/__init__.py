"""Measurements; never a timed test."""
