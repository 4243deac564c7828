"""Calls without Python in between, and memory of results."""
