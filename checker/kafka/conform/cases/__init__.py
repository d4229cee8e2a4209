"""What is compared: settings, cases from reachable states, the calls that reproduce them, and the tally of differences."""
