"""Clusters of real broker processes on this machine, behind relays that can break their network."""
