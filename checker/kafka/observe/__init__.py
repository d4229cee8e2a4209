"""What was seen of a real cluster, read from files or gathered live, and held against the model."""
