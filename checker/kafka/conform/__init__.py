"""Kafka's own classes as the judge of the model: in process, of any version, from every case that the model reaches."""
