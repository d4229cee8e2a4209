"""Producers and consumers: the dialects in which frameworks write their settings, and what a client makes of them."""
