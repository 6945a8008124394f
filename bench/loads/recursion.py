# recursion.py SECONDS: 50 frames deep, where the time is spent.
import sys
import time


def f(depth):
    if depth:
        return f(depth - 1) + 1
    total = 0
    for i in range(20000):
        total += i * i % 7
    return total


end = time.time() + float(sys.argv[1])
while time.time() < end:
    f(48)
