"""Tuning: which legal values of the schedules' parameters are fastest for a kernel, found by trying them.

records.py  what was found, in a file that compilation reads
search.py   which values are tried, and when to stop
subject.py  what is tuned
rival.py    a child process that schedules and times one kernel, so that whatever goes wrong there ends the child alone
"""
