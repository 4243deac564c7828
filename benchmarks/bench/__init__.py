"""One command for all that is measured: `scripts/bench`, or `python -m benchmarks.bench`."""
