"""YAML 1.2 core as properties use it: read, located and written."""
