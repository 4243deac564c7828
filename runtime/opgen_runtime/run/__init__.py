"""From a function to results: compilation of segments, executors, eager ops, jit; ops as programs of operands."""
