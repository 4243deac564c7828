"""Programs that are looked at: plans drawn and as JSON, and what kernels cost."""
