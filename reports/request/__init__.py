"""What is asked for: keywords, run options, the configurations that settings and files stand for."""
