"""Programs for developers: benchmarks, and what makes the published pages."""
