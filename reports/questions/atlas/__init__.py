"""Building the atlas (answers computed beforehand) and reporting what it covers."""
