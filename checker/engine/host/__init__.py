"""This machine: processes, memory, NumPy for its processor, files that are written whole; never a search."""
