"""What a user sets: keys, matrices, and how a configuration is chosen from them; never a verdict."""
