"""The `/editor` socket of pages, companions and the command line."""
