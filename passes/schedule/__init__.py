"""From implicit iteration spaces to explicit loops."""
