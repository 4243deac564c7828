"""What a declaration states about calls: operands, attrs, rules, results, tests; the functions in them translated.

values.py      texts of attrs and operands as values
attrs.py       attrs and their bounds
relations.py   the relations that `type_relation:` may name
signature.py   operands, rules and results
tests.py       `tests:` as values
decompositions.py  `decompose:` as functions of calls of ops
gradients.py   `grad:` as calls of ops
upgrades.py    `upgrades:` as functions of attrs and calls of ops
externs.py       `python:` references, found without importing them
"""
