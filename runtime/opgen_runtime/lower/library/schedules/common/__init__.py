"""What all schedules ask: accesses, parameters, contractions, what is inlined, prefetches."""
