"""Which broker may be stopped, and a maintenance plan phase by phase."""
