"""How a broker stops and starts, and what it does before it has registered."""
