"""What broker, controller and consumer do with each other: AlterPartition, stops and registrations, reads."""
