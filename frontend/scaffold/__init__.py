"""New passes and ops as files that work from the first minute: `tilewright new-pass`, `new-op`."""
