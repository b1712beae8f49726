"""From an imported module to a function that runs: a builder per target, and what all of them share."""
