"""What is known and what can be checked again by others: the ledger, and the walk through reachable states."""
