"""Runs inside gdb: for every line "PID TID" on standard input, the frames of that thread (TID 0: of
the first).

Each answer is a line a frame, "program PC NAME" or "library PC NAME" with the pc in hexadecimal,
leaf first, and a line "end". A line "error WHY" says that gdb failed; others are gdb's own remarks.
Inlined functions, and those that ended in a jump, are no frames of the stack and are left out.
"""

import sys

import gdb


def quietly(command):
    return gdb.execute(command, to_string=True)


def choose(tid):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid:
            thread.switch()


def print_stack():
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            where = "library" if gdb.solib_name(frame.pc()) else "program"
            print(f"{where} {frame.pc():x} {frame.name() or ''}")
        try:
            frame = frame.older()
        except gdb.error:  # It says why this frame has no caller.
            break


def main():
    for setting in ("pagination off", "confirm off", "debuginfod enabled off",
                    "backtrace past-main on", "backtrace past-entry on",
                    "backtrace limit unlimited", "auto-load off", "debug-file-directory", "print thread-events off"):
        quietly("set " + setting)
    last = None
    for line in sys.stdin:
        try:
            pid, tid = map(int, line.split())
            if pid != last:
                quietly("file")  # Forgets the program before.
            last = pid
            quietly(f"attach {pid}")
            choose(tid)
            print_stack()
            quietly("detach")
        except gdb.error as error:
            print(f"error {error}")
        print("end", flush=True)


main()
