"""Programs: the command line, the live page, and report pages."""
