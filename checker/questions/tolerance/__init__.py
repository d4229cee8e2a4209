"""How many brokers may lose data or be out before a record is lost."""
