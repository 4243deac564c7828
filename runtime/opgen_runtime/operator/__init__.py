"""One operator: attributes, types and type relations, registration."""
