"""What the controller decides: elections, ISR and ELR, reassignments, fencing; never what a broker has in memory."""
