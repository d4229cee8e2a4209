"""From a counterexample to what has to be done on a cluster, and doing it; never how it is shown."""
