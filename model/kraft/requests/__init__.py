"""What broker, controller and consumer do with each other: AlterPartition, and reads."""
