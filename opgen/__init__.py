"""The generator: reads op declarations, checks them, and prints everything else of an operator."""
