"""What phases do to loop IR: loops and lanes split, buffers placed."""
