"""Scenarios and claims, decided case by case."""
