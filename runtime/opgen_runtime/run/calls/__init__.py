"""How users' Python calls what is compiled: ops on arrays by name (eager/), functions under jit (tracing/)."""
