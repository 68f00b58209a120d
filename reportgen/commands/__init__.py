"""The commands, and what they say in the terminal."""
