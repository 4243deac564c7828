"""Bridges: declared ops as native ops of other frameworks.  Each framework is an extra, imported in its own room alone.

programs.py   a declared op, and its derivatives, as programs of operands and attrs: what all bridges ask
entries.py    programs compiled for the operands and attrs of calls
batched.py    programs for each element of a batch
torch/        ops of PyTorch (optional extra `torch`)
jax/          primitives of JAX (optional extra `jax`)
onnxruntime/  libraries of custom ops of onnxruntime, which need neither it nor this package
"""
