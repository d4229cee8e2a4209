"""Results and progress at a terminal."""
