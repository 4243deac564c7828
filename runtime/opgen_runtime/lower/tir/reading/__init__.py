"""Loop IR that people write: as text, and as Python functions."""
