"""What is known of devices before anything runs: limits, peaks, occupancy, kernel names."""
