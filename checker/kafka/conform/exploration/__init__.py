"""Explores every behaviour of Kafka's own brokers and controller within bounds, without the model."""
