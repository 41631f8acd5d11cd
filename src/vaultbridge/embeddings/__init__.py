"""Finds notes of similar meaning with a model that the user runs; off unless an endpoint is configured."""
