"""Live editor state: what a person looks at and points to. Knows no wire."""
