"""From declarations to generated files, doing nothing twice.

generator.py   one digest of all that checks and prints
records.py     what was found out before, in the user's cache directory
outline.py     Facts: what is known of a declaration before it is checked
facts.py       what is asked of a declaration before anything is checked
listing.py     one op as it is listed
pending.py     which declarations must be checked, and which files are known to be right
work.py        declarations checked and rendered
workers.py     how it is shared among processes
shared.py      those processes
generate.py    all of it for one project
"""
