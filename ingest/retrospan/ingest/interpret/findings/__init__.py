"""What is wrong with a run, by rules over its rows: `findings.findings_of` is the entry, each rule is a file."""
