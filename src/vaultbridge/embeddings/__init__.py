"""Similarity by meaning, from a model that the user runs: off unless an endpoint is configured."""
