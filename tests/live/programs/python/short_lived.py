"""Uses 300 ms of CPU time in functions of its own: `first` to `last`, one after the other."""
import time


def burn(until):
    while time.process_time() < until:
        sum(i * i for i in range(50))


def first(until):
    burn(until)


def middle(until):
    burn(until)


def last(until):
    burn(until)


BEGIN = time.process_time()
first(BEGIN + 0.1)
middle(BEGIN + 0.2)
last(BEGIN + 0.3)
