"""The search that lives on stored levels: its tasks, and its states as a table; never what Spark does with them."""
