"""The search in machine code."""
