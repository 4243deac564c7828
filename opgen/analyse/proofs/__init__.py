"""What running a declaration's translated code shows: that accesses are in bounds, shapes and dtypes fit, the pattern.

meter.py       limits on the work that one declaration may cause
assemble.py    translated syntax trees as functions and signatures
located.py     an error of that code as a diagnostic with its place
samples.py     signatures to run it on
run.py         running it
remainder.py   what of a faulty declaration can be run all the same
defaults.py    defaults of attrs against their bounds
probes.py      values of attrs on both sides of each bound
ends.py        accesses at the ends of the bounds
adjoints.py    the adjoints of one call
gradients.py   how the adjoint of each operand is computed
formulas.py    the value and the adjoints of a test, in LaTeX
"""
