"""How we tell: the command line, text, pictures, citations."""
