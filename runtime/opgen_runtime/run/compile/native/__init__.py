"""Calls without Python in between, and memory of results.

layouts.py                     what all of it assumes of CPython and numpy, verified as it is imported
pointers.py                    where arrays lie
entry.py                       built-in functions of a kernel's signature
entry_fields.py                what these read of tables of ours
entry_text.py                  they as LLVM text
trampoline.py                  vectorcall before `__call__`
buffers.py, output_buffers.py  memory of large results
"""
