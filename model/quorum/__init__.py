"""Kafka's controller quorum: Raft whose followers pull."""
