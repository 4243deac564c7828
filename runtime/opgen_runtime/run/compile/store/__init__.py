"""Compiled programs in files."""
