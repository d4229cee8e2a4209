"""Compares the model of transactions with Kafka's own coordinator metadata and log."""
