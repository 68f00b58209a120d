"""Evidence that somebody made to do harm: names that are paths, words that are markup or script."""
