"""Does a pass keep the meaning? Modules are run before and after it, on seeded and boundary inputs."""
