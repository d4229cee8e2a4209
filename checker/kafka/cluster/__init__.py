"""A real Apache Kafka on this machine: brokers as processes, their network, and faults."""
