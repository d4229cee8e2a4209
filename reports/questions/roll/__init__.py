"""A rolling restart and a maintenance plan: documents and page."""
