"""Every behaviour of Kafka's own Partition within bounds, explored without the model."""
