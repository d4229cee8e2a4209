"""How results are shown: the command line, text, pictures, documents, evidence bundles."""
