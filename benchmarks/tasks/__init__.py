"""Twenty everyday requests: their vault, how each server's tools fulfil them, and what must then be true."""
