"""Two functions by turns, each of as much CPU time and called as deep as the other; and one that
both callers share.

    alternating.py RESULT SECONDS

At the end RESULT says the process and how much CPU time, in ns, was spent below either caller.
Python 3.6 has no clock in ns."""
import os
import random
import sys
import time


def left_leaf(end_s):
    while time.process_time() < end_s:
        sum(range(100))


def right_leaf(end_s):
    while time.process_time() < end_s:
        sum(range(100))


def shared(end_s):
    while time.process_time() < end_s:
        sum(range(100))


def left_path(half_s):
    begin_s = time.process_time()
    left_leaf(begin_s + half_s)
    shared(begin_s + 2 * half_s)
    return time.process_time() - begin_s


def right_path(half_s):
    begin_s = time.process_time()
    right_leaf(begin_s + half_s)
    shared(begin_s + 2 * half_s)
    return time.process_time() - begin_s


left_s = right_s = 0
while left_s + right_s < float(sys.argv[2]):
    half = random.uniform(0.0005, 0.004)
    left_s += left_path(half)
    right_s += right_path(half)
with open(sys.argv[1], "w") as result:
    result.write("%d %d %d\n" % (os.getpid(), left_s * 1e9, right_s * 1e9))
