"""Read and rebuild what is built beside the log."""
