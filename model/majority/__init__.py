"""A majority-quorum log with the same clients and faults as the modern protocol."""
