"""Schedules of contractions."""
