"""Compares the model with Kafka's own classes, in process, for any version, in every case that the model reaches."""
