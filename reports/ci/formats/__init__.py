"""A file per format: `FILE` is what it is called beside a sweep's result, `render` gives its text."""
