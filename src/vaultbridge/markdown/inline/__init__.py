"""What stands inside a line: links, tags, code spans, math, HTML, inline fields."""
