"""Coordinators of groups and transactions: pure machines, and the runtime that drives them."""
