"""What can be done to a cluster of the lab, and when: relays and their rules, triggers, disks."""
