"""WebSocket frames and endpoints, for every protocol that uses them."""
