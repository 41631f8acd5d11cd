"""Bridge v1 over HTTP, and the stdio bridge that consumes it."""
