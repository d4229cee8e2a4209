"""What is compared: settings, cases from reachable states, the calls that bring them about, and the tally of differences."""
