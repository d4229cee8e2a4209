"""Transactions of one transactional.id: its producers, its coordinator, and the partitions that a transaction writes to."""
