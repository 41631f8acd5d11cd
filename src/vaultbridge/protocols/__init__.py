"""One folder for each protocol: wire format, meaning and routes. What several share is next to the
folders."""
