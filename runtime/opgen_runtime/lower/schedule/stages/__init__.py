"""One stage: its loops, where it stands, the primitives that change it alone."""
