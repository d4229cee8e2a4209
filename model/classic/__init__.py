"""The classic protocol family, action for action as the public TLA+ modules have it; never what only KRaft does."""
