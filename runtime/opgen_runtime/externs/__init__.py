"""Hand-written functions of arrays for ops whose algorithm an index-level definition cannot say.

Each takes the inputs as numpy arrays in the order of the declaration, the attrs by name, and returns the outputs.

unique.py    distinct entries
boxes.py     non-maximum suppression
spectra.py   eigenvalues and singular values
"""
