"""Answers a question in plain words: notes and their sections by rank, whether or not all words occur."""
