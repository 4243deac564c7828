"""What primitives make of the computations of stages."""
