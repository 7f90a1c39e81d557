"""Estimators in the form that other libraries ask for, one file a library; each needs that library."""
