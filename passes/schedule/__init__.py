"""From implicit iteration spaces to explicit loops: the decisions, as attributes, and what applies them."""
