"""`reproduce`: tries of a counterexample on real clusters; scripts, evidence, exit status."""
