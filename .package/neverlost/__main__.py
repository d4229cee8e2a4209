"""`python -m neverlost` is the console script."""

from neverlost.reports.cli import main

main()
