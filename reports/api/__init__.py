"""What `import neverlost` gives: a function for each command, typed results, traces and tables."""
