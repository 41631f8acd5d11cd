"""The Model Context Protocol: versions, methods, values, and its transports."""
