"""Parses the inside of a block: links, tags, code spans, math, HTML, inline fields."""
