"""What Kafka does: the replication protocol as guarded actions over a finite state."""
