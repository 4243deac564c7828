"""What an operator computes: tensor expressions, and the language that declarations are written in."""
