"""All the ways in which Python frames come about, over and over, until the process is killed.

    many_shapes.py DUMP_FILE [threads|deep]

On SIGUSR1 the thread that gets it writes its own stack to DUMP_FILE (module faulthandler): that is
what the tests compare with. Runs on Python 3.6 and later.
"""
import ctypes
import faulthandler
import functools
import re
import signal
import sys
import threading


def work(rounds):
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def recursion(depth):
    if depth == 0:
        return work(60)
    return recursion(depth - 1) + 1


def sort_key(value):
    return work(20) + value


class Shapes:
    def __init__(self, name):
        self.name = name

    def method(self, depth):
        return self.method(depth - 1) if depth else sorted([3, 1, 2], key=sort_key)

    @property
    def attribute(self):
        return work(30)

    @classmethod
    def from_class(cls):
        return [cls.helper(i) for i in range(3)]

    @staticmethod
    def helper(value):
        return (lambda x: work(20) + x)(value)

    def __lt__(self, other):
        return work(20) < len(other.name)

    def __call__(self, match):
        return str(work(30) % 7)


def generator(count):
    for i in range(count):
        yield work(20) + i


def delegating(count):
    yield from generator(count)


class Awaitable:
    def __await__(self):
        yield work(20)
        return 1


async def inner():
    return await Awaitable() + work(20)


async def outer():
    return await inner() + await inner()


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as done:
        return done.value


def größe_прямо_長さ(n):
    return work(n)


@functools.lru_cache(maxsize=1)
def cached(n):
    return recursion(n % 5)


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: work(20) + n)
EXEC = compile("def made(n):\n\n    return work(n)\nmade(30)\n", "<made by exec>", "exec")


def failing():
    try:
        raise ValueError(work(20))
    except ValueError:
        return work(20)
    finally:
        work(10)


def one_round(i):
    recursion(i % 40)
    Shapes("x").method(i % 6)
    Shapes.from_class()
    Shapes("y").attribute
    sorted([Shapes("b"), Shapes("a"), Shapes("c")])
    re.sub("a", Shapes("z"), "banana")
    list(map(sort_key, delegating(4)))
    drive(outer())
    größe_прямо_長さ(40)
    cached(i)
    CALLBACK(3)
    exec(EXEC, {"work": work})
    failing()
    functools.reduce(lambda a, b: work(10) + b, [1, 2, 3])
    {sort_key(i): i for i in generator(3)}


def forever():
    i = 0
    while True:
        one_round(i)
        i += 1


def wide(values):
    a = work(10); b = [work(20) for _ in range(2)]
    return (
        a
        + sum(b)
        + max(values,
              key=sort_key)
    )


def deep(depth):
    if depth == 0:
        while True:
            wide([1, 2])
    return deep(depth - 1)


def main():
    dump = open(sys.argv[1], "w")
    faulthandler.register(signal.SIGUSR1, file=dump, all_threads=False)
    kind = sys.argv[2] if len(sys.argv) > 2 else ""
    if kind == "deep":
        deep(900)
    if kind == "threads":
        sys.setswitchinterval(0.001)
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
    forever()


main()
