"""Schedules to loop IR."""
