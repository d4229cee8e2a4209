"""Compares the model's voters with Kafka's own classes of the controller quorum."""
