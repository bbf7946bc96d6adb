"""Real engines for tests and for a person to play with: they are started and stopped here, and nothing is asserted."""
