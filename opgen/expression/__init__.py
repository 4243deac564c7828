"""The compute language: text to syntax trees, names, and translation to Python's syntax trees."""
