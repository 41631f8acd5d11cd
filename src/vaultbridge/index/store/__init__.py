"""The tables of the index and what is written to them."""
