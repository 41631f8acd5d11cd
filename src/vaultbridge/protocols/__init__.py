"""One folder a protocol: its wire, its meaning and its routes. What several share lies beside them."""
