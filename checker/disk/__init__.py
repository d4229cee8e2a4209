"""Levels of states as immutable files, and the search that lives on them; never what Spark does with them."""
