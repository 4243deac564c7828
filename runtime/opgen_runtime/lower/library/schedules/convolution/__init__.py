"""Schedules of sums and reductions over windows."""
