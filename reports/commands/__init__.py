"""One file per command, listed in `reports/program.py`; each imports heavy modules only when it runs."""
