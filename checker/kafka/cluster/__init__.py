"""A real Apache Kafka on this machine: brokers as processes, faults, and counterexamples tried on them."""
