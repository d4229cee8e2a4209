"""Words and sentences that several questions share."""
