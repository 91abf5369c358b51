"""Raw rows as spans: attributes decoded, fields found, what cannot be read listed."""
