"""Recorded runs side by side: what changed, whether a fresh run replaces one, whether folders are whole."""
