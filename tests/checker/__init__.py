"""How we find out, tested."""
