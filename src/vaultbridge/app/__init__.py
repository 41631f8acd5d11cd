"""Configuration, wiring, lifecycle and logs: the only part that knows all others."""
