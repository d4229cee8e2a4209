"""One file per command; each has `register(app)`, and imports heavy modules only when it runs."""
