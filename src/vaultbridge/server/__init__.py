"""Configuration, wiring and lifecycle: builds everything, the only part that knows all the others."""
