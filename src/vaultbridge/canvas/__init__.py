"""JSON Canvas: parse, edit, outline. Pure."""
