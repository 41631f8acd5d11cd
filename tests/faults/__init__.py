"""Faults that are injected into real processes; `run.py` repeats each as often as asked and prints a
table."""
