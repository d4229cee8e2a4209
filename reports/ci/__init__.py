"""What continuous integration reads: JUnit, SARIF, job summaries."""
