"""Declared ops, their derivatives and batches as programs of operands and attrs: what every bridge asks of an op.

programs.py       a declared op, and its derivatives
batched.py        a program for each element of a batch
leading_axes.py   along which axes a call may be made of parts of all operands
namespace.py      modules whose names are ops
"""
