"""The comparison with Kafka's own classes, as a document and as JUnit tests in Java."""
