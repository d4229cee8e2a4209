"""Output of results: the terminal, JSON, gate files, the exit status."""
