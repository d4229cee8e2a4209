"""`observe`: whether the model explains a recorded history; document and screen."""
