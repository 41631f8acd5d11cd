"""Handles links between notes: which file a link names, how to write one, and what a move must rewrite.

Pure: values in, values out. This package only makes plans; the engine carries them out.
"""
