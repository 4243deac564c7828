"""Schedules of reductions of rows and of scans."""
