# Greenlets, begun and gone on with from different depths of the main one's C stack: what lies above
# a greenlet's first function is somebody else's. Two kinds, whose functions must never meet, nor
# level()'s.
import greenlet

main = greenlet.getcurrent()


def crunch(count):
    x = 0
    for i in range(count):
        x += i * i
    return x


def deep_a(depth):
    if depth:
        return deep_a(depth - 1)
    crunch(3000)
    main.switch()
    return crunch(1000)


def deep_b():
    sorted([5, 2, 4, 1], key=lambda value: crunch(200) and value)
    main.switch()
    return crunch(1500)


def run_a():
    while True:
        deep_a(6)


def run_b():
    while True:
        deep_b()


def run_short():
    crunch(300)
    main.switch()
    crunch(20)


a, b = greenlet.greenlet(run_a), greenlet.greenlet(run_b)


def level(depth):
    if depth:
        return max([depth], key=lambda value: level(value - 1) or value)  # By C code.
    a.switch()
    b.switch()
    short = greenlet.greenlet(run_short)
    short.switch()
    short.switch()
    crunch(500)


turn = 0
while True:
    level(turn % 5)
    turn += 1
