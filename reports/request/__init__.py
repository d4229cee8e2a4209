"""Reads what is asked for: keywords, run options, and the configurations that settings and files describe."""
