"""Kafka's own classes of the controller quorum against the model's voters."""
