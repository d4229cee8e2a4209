"""Real Kafka: clusters, counterexamples tried on them, histories; the one room of the checker that speaks of the protocol."""
