"""Numbers and tables as text: the only rooms that turn a value into words a reader sees."""
