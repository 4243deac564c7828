"""Cases for the generated suite, made from the declared tests.

sampled.py     calls with other shapes, dtypes and attrs
refused.py     calls that must be refused
example.py     the test that documentation shows
inferred.py    which operands' types follow from the rest of a call
"""
