"""What clients may use: whose quota counts, how it is measured, how long who must wait."""
