"""How likely it is that a decided region is left: rates of faults (`default_rates.toml`, with sources), and chains over them.

Holds what follows from rates and a region; never a protocol.
"""
