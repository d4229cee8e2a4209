"""`replay`: a saved counterexample re-executed step by step."""
