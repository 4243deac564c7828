"""PyTorch's own samples of its operators, on arrays: `python -m tests.conformance.opinfo`."""
