"""Run by gdb: prints every frame of the thread `tid` as "frame PC NAME"."""
import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit unlimited")
for thread in gdb.selected_inferior().threads():
    if thread.ptid[1] == tid:  # noqa: F821 - set on gdb's command line
        thread.switch()
        frame = gdb.newest_frame()
        while frame is not None and frame.is_valid():
            if frame.type() != gdb.INLINE_FRAME:  # no frame of its own on the stack
                print("frame %x %s" % (frame.pc(), frame.name() or "?"))
            try:
                frame = frame.older()
            except gdb.error:
                break
