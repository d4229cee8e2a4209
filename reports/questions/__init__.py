"""How each question is asked from Python and shown: a folder for each, named as in `checker/questions`."""
