"""What the pages take from result files: tables between markers and numbers in sentences; see docs/generate.py."""
