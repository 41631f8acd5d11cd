"""The Streamable HTTP transport of the client."""
