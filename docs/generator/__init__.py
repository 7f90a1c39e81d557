"""What the pages take from result files: tables between markers, and numbers in sentences. `python docs/generate.py` writes them."""
