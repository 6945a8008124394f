# Interpreters inside of interpreters: the main one runs a second one in the same thread, that one a
# third one. With "threads"
# each of two threads does so. Usage: sub_interpreters.py READY [threads]   READY: a file that
# appears when all is running.
import sys
import threading

try:
    import _interpreters as interpreters  # 3.13 on.
except ImportError:
    import _xxsubinterpreters as interpreters  # 3.8 to 3.12.

INNERMOST = """
def innermost_spin():
    while True:
        for i in range(1000): pass
open({ready!r}, 'a').close()
innermost_spin()
"""

MIDDLE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def middle_call():
    interpreters.run_string(interpreters.create(), {innermost!r})
middle_call()
"""


def outer_call():
    interpreters.run_string(interpreters.create(), MIDDLE.format(innermost=INNERMOST.format(ready=sys.argv[1])))


if sys.argv[2:] == ["threads"]:
    threads = [threading.Thread(target=outer_call, daemon=True) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
else:
    outer_call()
