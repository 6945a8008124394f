"""Runs inside gdb: for every process id on standard input, the frames of its only thread.

Each answer is a line a frame, "program PC NAME" or "library PC NAME" with the pc in hexadecimal,
leaf first, and a line "end". A line "error WHY" says that gdb failed; others are gdb's own remarks.
Inlined functions are no frames of the stack and are left out.
"""

import sys

import gdb


def quietly(command):
    return gdb.execute(command, to_string=True)


def print_stack():
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            where = "library" if gdb.solib_name(frame.pc()) else "program"
            print(f"{where} {frame.pc():x} {frame.name() or ''}")
        frame = frame.older()


def main():
    for setting in ("pagination off", "confirm off", "debuginfod enabled off",
                    "backtrace past-main on", "backtrace past-entry on", "print thread-events off"):
        quietly("set " + setting)
    for line in sys.stdin:
        try:
            quietly(f"attach {int(line)}")
            print_stack()
            quietly("detach")
        except gdb.error as error:
            print(f"error {error}")
        print("end", flush=True)


main()
