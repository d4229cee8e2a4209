"""From a counterexample to actions on a real cluster, and carrying them out."""
