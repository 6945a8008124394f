"""A program for the guest: Python calls the interpreter's own sort, which calls Python again."""


def innermost(number):
    total = 0
    for i in range(200):
        total += i * number & 7
    return total


def callback(number):
    return innermost(number)


def outermost():
    while True:
        sorted(range(1000), key=callback)


outermost()
