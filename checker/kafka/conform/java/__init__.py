"""Kafka's own classes in this process: their jars, the Java that loads them, and one controller and one broker built from
them."""
