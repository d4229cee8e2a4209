"""How any model is explored, proved and stored; nothing here knows Kafka."""
