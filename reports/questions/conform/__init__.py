"""`conform` compares the model with Kafka's own classes: its documents, its screens, and JUnit tests in Java."""
