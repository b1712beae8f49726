"""What every target that runs on this machine shares: host functions in C++, built, loaded and called."""
