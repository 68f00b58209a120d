"""What repeated measurements allow one to say; pure arithmetic on samples."""
