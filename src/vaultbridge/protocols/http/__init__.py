"""What the HTTP protocols share: guard, bodies, listening."""
