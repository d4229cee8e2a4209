"""Kafka's own classes in this process: their jars, the Java that loads them, one controller and one broker made of them."""
