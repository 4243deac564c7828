"""Loop IR run literally: the oracle of tests."""
