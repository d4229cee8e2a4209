"""A counterexample as text, table, picture and trace file."""
