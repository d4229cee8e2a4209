"""The laboratory with real Kafka: clusters, counterexamples tried on them, recorded histories, and Kafka's own classes."""
