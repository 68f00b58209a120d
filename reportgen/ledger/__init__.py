"""A trace of any model → the ledger of its attention: what ran, what it cost, what ruled a faster way out. No sentence but in `words`."""
