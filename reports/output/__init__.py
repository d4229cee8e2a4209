"""Where a result goes: the terminal, JSON, gate files, the exit status."""
