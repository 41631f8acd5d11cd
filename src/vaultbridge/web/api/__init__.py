"""The page's HTTP API, below `/page/api`: one module for each view of the page."""
