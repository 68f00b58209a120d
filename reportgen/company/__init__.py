"""The machine around a command: the disk, who else is at work, signals, and what a killed command left."""
