"""What lemmas and properties say where a size has no bound."""
