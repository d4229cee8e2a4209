"""How likely it is that a decided region is left: chains, their exact reading, simulations that they are held against.

Holds what follows from rates and a region; never a protocol, and never rates of its own (`neverlost.specs.rates`).
"""
