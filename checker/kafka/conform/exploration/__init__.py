"""Explores every behaviour of Kafka's own Partition and controller within bounds, without the model."""
