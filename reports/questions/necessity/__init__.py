"""What `necessity` finds: which property breaks without each guard clause and mechanism."""
