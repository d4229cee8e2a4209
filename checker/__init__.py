"""How we find out: explorers, provers, replay, evidence."""
