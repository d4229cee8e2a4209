"""Transactions against Kafka's own classes: what its coordinator metadata and its log answer, and the comparison."""
