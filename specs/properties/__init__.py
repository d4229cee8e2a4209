"""What must hold: one file per property, each exporting `PROPERTY`; found by listing this folder."""
