"""A counterexample re-executed step by step."""
