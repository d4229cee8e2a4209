"""Hand-written lemmas, one file per family of models, each exporting `THEORY`; found by listing this folder."""
