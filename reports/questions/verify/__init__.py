"""`verify`: a bundle derived again from its question and compared, file by file."""
