"""Helpers that every room shares."""
