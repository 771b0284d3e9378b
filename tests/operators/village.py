"""A module without operators."""
