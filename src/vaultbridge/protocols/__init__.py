"""One folder for each protocol: its wire, its meaning and its routes. What several share is next to them."""
