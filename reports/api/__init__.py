"""neverlost: can this Kafka configuration lose an acknowledged message, and how?"""
