"""Scenarios, claims and necessity plans: cases with an expected verdict."""
