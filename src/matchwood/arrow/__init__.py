"""Between Python values and Arrow's: nothing is guessed on the way, and nothing changes."""
