"""Random walks of Kafka's own brokers and controller, each of which the model has to explain."""
