"""The shape of the project: rooms, documents, benchmarks."""
