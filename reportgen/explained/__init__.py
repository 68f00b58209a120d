"""A ledger as one page: self-contained HTML, or Markdown. Standard library only, so that explaining a trace starts at once."""
