"""What the protocols over HTTP share: the Host and Origin rules, request bodies, the listening socket."""
