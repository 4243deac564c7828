"""Hand-written functions of arrays for ops whose algorithm an index-level definition cannot say.

Each takes the inputs as numpy arrays in the order of the declaration, the attrs by name, and returns the outputs.

unique.py    distinct entries
sorting.py   stable sorts, and the greatest or least elements
boxes.py     non-maximum suppression
"""
