"""`prove`: proofs and bounded searches by Z3; documents and screen."""
