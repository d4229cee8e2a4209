"""Results, progress and judgements for people at a terminal."""
