"""A seeded run of a real cluster: workload, faults, and the recorded history; does not judge it."""
