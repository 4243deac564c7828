"""Loop IR to LLVM IR text."""
