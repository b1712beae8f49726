"""From an FX graph to a module: its nodes, its edge, its sizes, its memory, its places in the source."""
