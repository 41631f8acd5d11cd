"""Live editor state: what a person looks at, points to and decides. Knows no wire."""
