"""The plan of a program, its memory, and the native function that runs it."""
