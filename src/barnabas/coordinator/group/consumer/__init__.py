"""Groups of the newer protocol (KIP-848): one heartbeat, assignments made here."""
