"""The command line: `commands` says which module contains a command; each command is a function of its
arguments that returns an exit code.
"""
