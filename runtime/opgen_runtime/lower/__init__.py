"""One kernel on its way down: schedules, loop IR and its phases, the library of schedules and strategies."""
