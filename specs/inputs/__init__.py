"""Kafka's own files and what its tools print, read strictly; never a default that is not Kafka's."""
