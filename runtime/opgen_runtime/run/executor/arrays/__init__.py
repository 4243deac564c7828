"""Arrays of programs: params, states that grow, what is donated; how results nest them, and arrays of others."""
