"""Real clusters and what they leave behind."""
