"""What a claim and a reading are made of: rules, cases, evidence."""
