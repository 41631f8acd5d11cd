"""What the tests of the tools share."""
