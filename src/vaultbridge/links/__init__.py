"""Meaning across notes: which file a link names, what a link should say, and what a rename must rewrite.

Pure: values in, values out. Plans are only made here; carrying them out is the engine's duty.
"""
