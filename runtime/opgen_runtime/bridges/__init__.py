"""Bridges: declared ops as native ops of other frameworks.  Each framework is an extra, imported in its own room alone.

entries.py      programs (run/op_programs/) compiled for the operands and attrs of calls
entry_table.py  what is compiled in memory, where machine code finds it by the words of a call
messages.py     what is said of a call that fails
torch/          ops of PyTorch (optional extra `torch`)
jax/            primitives of JAX (optional extra `jax`)
onnxruntime/    libraries of custom ops of onnxruntime, which need neither it nor this package
"""
