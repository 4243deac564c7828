"""What a declaration says, with all names resolved.

inherit.py     each document with the entries of what it extends
define.py      a validated document to an `OpDef`: every expression parsed
namespace.py   what each name is, and where it may be used
"""
