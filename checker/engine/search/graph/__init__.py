"""The state graph of a finished search, and what can be recovered from in it; never how states are found."""
