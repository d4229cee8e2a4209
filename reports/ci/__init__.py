"""Output for continuous integration: JUnit, SARIF, job summaries."""
