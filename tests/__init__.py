"""How we know: a room per room, and what they share in `support`."""
