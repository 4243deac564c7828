"""What is found of loop IR: ranges, canonical forms, guards, patterns."""
