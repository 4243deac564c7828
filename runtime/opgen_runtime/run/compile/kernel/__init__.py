"""A segment to a kernel: the stages, the kernel, its keys."""
