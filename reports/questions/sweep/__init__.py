"""`sweep`: verdicts over a configuration matrix; typed result and screen."""
