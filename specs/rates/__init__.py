"""How often what goes wrong with brokers, and how long it lasts: episodes, read from TOML, with ranges.

Holds the table that is shipped, with its sources, and the reader of a user's own.  Never what follows from them: that is
`neverlost.checker.nines`.
"""
