"""Whether independent ways give the same verdict on one configuration."""
