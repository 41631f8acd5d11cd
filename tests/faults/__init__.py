"""Faults injected with real processes; `run.py` repeats each of them as often as asked and prints a table."""
