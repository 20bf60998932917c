"""What tests of applications get: a broker, names of their own, a history, a verdict on it."""
