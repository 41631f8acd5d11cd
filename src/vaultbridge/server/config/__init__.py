"""The configuration file: its model, its checks, and following its changes."""
