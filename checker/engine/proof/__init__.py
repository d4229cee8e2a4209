"""Z3: bounded search, induction, lemmas and obligations; never a guess that counts as a proof."""
