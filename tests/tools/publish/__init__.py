"""Programs that make what `reports/published` shows."""
