"""The user's data: series, scaling, losses and metrics, frames with dates, and tables from files."""
