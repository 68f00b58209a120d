"""A few chart forms: data in, figure out. `FORMS` maps a form's name to its function."""
