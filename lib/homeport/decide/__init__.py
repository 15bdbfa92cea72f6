"""Options in, a decision out: what to rent, why, and what would change it."""
