"""Results as a page: one HTML file that opens anywhere, with its pictures and its style inside."""
