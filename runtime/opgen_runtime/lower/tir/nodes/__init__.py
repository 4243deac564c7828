"""Loop IR itself: statements, walks over them, building blocks, what holds of all of it."""
