"""The kernel tests' own parts on texts: reading a console, telling a crash from a failed test, each
judge's yes and no, the mirror, the archive, how loops end."""

import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest

import debian_kernel
import guest
import judgement
import loop_ends
import verifier_table
from guest_root import GuestRoot
from guest import Step

CONSOLE = """[    0.1] something
@@ booted 6.1.0-50-cloud-amd64 2.86\r
@@ begin doctor\r
Sampling is possible; 1 thing missing.\r
@@ end doctor 0 2.90 3.40
@@ begin record
a;b 1

@@ end record 1 3.40 9.40
"""
PANIC = "[   12.0] Kernel panic - not syncing: Fatal exception in interrupt\n"
TRACE = "[   11.9]  ? bpf_prog_0ead84183f4a871b_on_cpu_clock+0x12/0x40\n"


class Consoles(unittest.TestCase):
    def test_steps_with_their_codes_and_times(self):
        transcript = guest.parse(CONSOLE + "@@ finished\n[   13.0] reboot: Restarting system\n")
        self.assertTrue(transcript.finished)
        self.assertEqual(transcript.release, "6.1.0-50-cloud-amd64")
        self.assertEqual(list(transcript.steps), ["doctor", "record"])
        self.assertEqual(transcript.steps["record"].code, 1)
        self.assertAlmostEqual(transcript.steps["record"].seconds, 6.0)
        self.assertEqual(transcript.steps["doctor"].output,
                         "Sampling is possible; 1 thing missing.\n")

    def test_a_crash_is_named(self):
        transcript = guest.parse(CONSOLE + "@@ begin shapes\n[   11.9] Oops: 0000 [#1]\n" + PANIC)
        self.assertFalse(transcript.finished)
        self.assertIn("Oops: 0000", transcript.crash)
        self.assertEqual(transcript.bpf_in_crash, "")
        self.assertNotIn("shapes", transcript.steps)

    def boot(self, *texts):
        left, said = list(texts), []
        kept = []
        transcript = guest.boot("kernel", "root", said.append, lambda *boot: kept.append(boot),
                                lambda *_: left.pop(0))
        self.assertEqual([text for _, text in kept], list(texts[:len(kept)]))
        return transcript, len(kept), said

    def test_a_crashed_guest_boots_again(self):
        transcript, boots, said = self.boot(CONSOLE + PANIC, CONSOLE + "@@ finished\n")
        self.assertTrue(transcript.finished)
        self.assertEqual(boots, 2)
        self.assertIn("Kernel panic", said[0])

    def test_but_not_for_ever(self):
        transcript, boots, said = self.boot(*[CONSOLE + PANIC] * 5)
        self.assertFalse(transcript.finished)
        self.assertEqual((boots, len(said)), (guest.BOOTS, guest.BOOTS))

    def test_a_crash_in_our_program_is_ours(self):
        transcript, boots, _ = self.boot(CONSOLE + "[ 11.8] Oops: 0000 [#1]\n" + TRACE + PANIC,
                                         CONSOLE + "@@ finished\n")
        self.assertEqual(boots, 1)
        self.assertIn("on_cpu_clock", transcript.bpf_in_crash)

    def test_a_failed_test_does_not_boot_again(self):
        _, boots, _ = self.boot(CONSOLE + "@@ finished\n", CONSOLE)
        self.assertEqual(boots, 1)


RECORDED = ("284 samples of 1 process in 3.1 s at 99 Hz, none lost\n"
            "user stacks: {} of 1,283 complete (100.0 %)\n"
            "qsort_deep;{};__libc_start_main;main;qsort;deep::Compare 1280\n"
            "qsort_deep;[ld-linux-x86-64.so.2+0x1ab77] 3\n")


class Judges(unittest.TestCase):
    def bad(self, judge, output, code=0, version=(6, 12)):
        self.assertTrue(judge(Step(output, code, 1), version), output)

    def good(self, judge, output, code=0, version=(6, 12)):
        self.assertEqual(judge(Step(output, code, 1), version), [])

    def test_record(self):
        self.good(judgement.judge_record, RECORDED.format("1,283", "_start"))
        self.bad(judgement.judge_record, RECORDED.format("1,260", "_start"))
        self.bad(judgement.judge_record, RECORDED.format("1,283", "[truncated: too deep]"))
        self.bad(judgement.judge_record, RECORDED.format("1,283", "_start"), code=1)
        self.bad(judgement.judge_record, "")
        self.bad(judgement.judge_record, "user stacks: 9 of 9 complete\nqsort_deep;_start;main 9\n")

    def test_names(self):
        both = "spin;_start;SpinLeaf 40\nspin_static;_start;SpinLeaf 40\n"
        self.good(judgement.judge_names, both)
        self.bad(judgement.judge_names, both, code=1)
        self.bad(judgement.judge_names, "busybox;_start;SpinLeaf 80\n")
        self.bad(judgement.judge_names, both.replace("spin_static", "busybox"))

    def test_deep(self):
        judge = judgement.judge_deep
        whole = "recursion;_start;main" + ";RecursionLevel" * 1000 + ";RecursionLeaf 120\n"
        self.good(judge, whole)
        self.bad(judge, whole, code=1)
        self.bad(judge, whole.replace("120", "20"))
        self.bad(judge, whole.replace("main;RecursionLevel", "main"))
        self.bad(judge, whole.replace("_start;", ""))

    def test_python(self):
        judge = judgement.judge_python
        start = "python3;_start;main;<module>;outermost"
        whole = (start + ";list_sort;callback;innermost 90\n" + start + ";list_sort 20\n"
                 "user stacks: 110 of 110 complete (100.0 %)\n")
        self.good(judge, whole)
        self.bad(judge, whole, code=1)
        self.bad(judge, whole.replace("90", "70"))  # Too few samples.
        self.bad(judge, whole.replace("sort;callback;innermost", "sort;innermost"))
        self.bad(judge, whole.replace(";list_sort;callback", ";callback"))
        self.bad(judge, whole.replace("_start;", ""))
        self.bad(judge, whole.replace(";<module>", ""))

    def test_callbacks(self):
        judge = judgement.judge_callbacks(("a", "b", "c"))
        start, end = "perl;_start;main;a", "user stacks: 110 of 110 complete (100.0 %)\n"
        whole = start + ";sort;b;c 90\n" + start + ";sort 20\n" + end
        self.good(judge, whole)
        self.good(judge, whole.replace("_start", "[perl+0x732f]"))  # A stripped program.
        self.good(judge, whole.replace("_start", "[perl·fn_7300]"))
        self.bad(judge, whole, code=1)
        self.bad(judge, whole.replace("_start;", ""))
        self.bad(judge, whole.replace("90", "70"))  # Too few samples.
        self.bad(judge, whole.replace(";c 90", " 90"))
        self.bad(judge, whole.replace(";sort;b", ";b"))
        self.bad(judge, whole.replace("b;c", "c"))
        self.bad(judge, whole.replace("110 of", "100 of"))
        self.bad(judge, whole.replace(end, ""))

    def test_googletest(self):
        self.good(judgement.judge_googletest, "[       OK ] A.B\n[  PASSED  ] 1 test.\n")
        self.bad(judgement.judge_googletest, "[  PASSED  ] 0 tests.\n")
        self.bad(judgement.judge_googletest, "[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test\n")
        self.bad(judgement.judge_googletest, "[  PASSED  ] 1 test.\n", code=139)
        self.bad(judgement.judge_googletest, "[  FAILED  ] A.B (3 ms)\n", code=1)

    def test_verifier(self):
        text = ("field mm_struct.mm_mt yes\nfield inode.i_mtime yes\nfield inode.__i_mtime no\n"
                "field inode.i_mtime_sec no\nfield vm_area_struct.vm_lock_seq no\n"
                "field mm_struct.mm_lock_seq no\nfield task_struct.in_execve yes\n"
                "field mm_struct.mm_lock_seq.sequence no\nfield cgroup.ancestors yes\n"
                "field mm_struct.mm_rb no\nrange_cache yes\n"
                "program sampler.bpf.o on_cpu_clock 85037 327000\n")
        judge = judgement.judge_verifier
        self.good(judge, text, version=(6, 1))
        self.bad(judge, text, version=(6, 12))  # The fields that came meanwhile are not there.
        self.bad(judge, text.replace("i_mtime yes", "i_mtime no"), version=(6, 1))
        self.bad(judge, text.replace("mt yes", "mt no"), version=(6, 1))
        self.bad(judge, text.replace("rb no", "rb yes"), version=(6, 1))
        self.bad(judge, text, version=(5, 10))  # Another tree of mappings.
        before = text.replace("mt yes", "mt no").replace("rb no", "rb yes") + "".join(
            f"field {name} yes\n" for name in ("mm_struct.mmap", "vm_area_struct.vm_next",
                                               "vm_area_struct.vm_rb", "cgroup.ancestor_ids"))
        self.good(judge, before, version=(5, 10))
        self.bad(judge, before.replace("vm_next yes", "vm_next no"), version=(5, 10))
        self.bad(judge, text, code=1, version=(6, 1))
        self.bad(judge, text.replace("85037", "900000"), version=(6, 1))
        self.bad(judge, text.replace("cache yes", "cache no"), version=(6, 1))
        self.bad(judge, text.replace("program ", "progress "), version=(6, 1))
        self.assertEqual(judgement.programs(text), {"on_cpu_clock": (85037, 327000)})

    def test_context(self):
        judge = judgement.judge_context
        self.good(judge, "stackIndex 400\nlinkIndex 250\nroutes 14\n")
        self.bad(judge, "stackIndex 400\nlinkIndex 100\nroutes 14\n")
        self.bad(judge, "stackIndex 400\nlinkIndex 250\nroutes 2\n")
        self.bad(judge, "stackIndex 90\nlinkIndex 90\nroutes 14\n")
        self.bad(judge, "grep: /c.json: No such file or directory\n")

    def test_java(self):
        judge = judgement.judge_java
        stacks = "java;_start;call stub;Brief.main;Brief.first;Brief.burn 150\njava;_start;JLI_Launch 40\n"
        self.good(judge, stacks)
        self.good(judge, stacks + "java;[unknown jit] 30\n")  # Not among Java's methods.
        self.bad(judge, stacks.replace("150", "50"))
        self.bad(judge, stacks + "java;_start;[stale];Brief.burn 30\n")
        self.bad(judge, stacks + "java;[truncated: no rule];Brief.burn 30\n")
        self.good(judge, stacks + "java;_start;Brief.main;[gone] 20\n")
        self.bad(judge, stacks + "java;_start;Brief.main;[gone] 40\n")

    def test_doctor(self):
        self.good(judgement.judge_doctor, "Sampling is possible; 1 thing missing.")
        self.bad(judgement.judge_doctor, "Sampling is not possible.", code=1)

    def test_kernel_log(self):
        warning = "[ 3.1] WARNING: CPU: 0 PID: 9 at kernel/x.c:1 f+0x1\n[ 3.2]  ? {}+0x2/0x9\n"
        self.good(judgement.judge_kernel_log, "[ 0.1] Linux\n" + warning.format("tsc_init"))
        self.bad(judgement.judge_kernel_log, "[ 0.1] Linux\n" + warning.format("bpf_get_stack"))


class Tables(unittest.TestCase):
    REPORT = "program s.bpf.o on_tick {} 2000\nfield a.b yes\n"

    def show(self, kept_instructions, objects_now):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("old.o", "new.o")]
            for path in paths:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(path)
            verifier_table.keep(folder, "6.1.0-x", self.REPORT.format(kept_instructions), paths[:1])
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = verifier_table.show(folder, self.REPORT.format(50), paths[objects_now:][:1])
            return code, said.getvalue()

    def test_one_build_in_one_table(self):
        code, said = self.show(70, 0)
        self.assertEqual(code, 0)
        self.assertRegex(said, r"on_tick +70 +50\n")

    def test_too_many_instructions(self):
        self.assertEqual(self.show(judgement.MOST_INSTRUCTIONS + 1, 0)[0], 1)

    def test_counts_of_another_build_are_left_out(self):
        code, said = self.show(judgement.MOST_INSTRUCTIONS + 1, 1)
        self.assertEqual(code, 0)
        self.assertIn("left out: 6.1.0-x", said)
        self.assertRegex(said, r"on_tick +50\n")


class Packages(unittest.TestCase):
    def test_mirror(self):
        ours = "Debian|http://mirror/debian/|bookworm|main\n"
        foreign = "|http://other/repository/|bookworm|main\n"
        self.assertEqual(debian_kernel.mirror_of(foreign + ours), "http://mirror/debian/")
        self.assertEqual(debian_kernel.mirror_of(foreign), "http://other/repository/")
        self.assertIsNone(debian_kernel.mirror_of("Debian|http://m/|bookworm-security|main\n"))
        self.assertIsNone(debian_kernel.mirror_of("Ubuntu|http://m/|noble|main\n\nnoise\n"))

    def test_packages_that_may_hold_a_kernel(self):
        names = debian_kernel.image_packages(
            "dracut | linux-initramfs-tool, linux-base-7.2+deb14 (= 7.2-1), "
            "linux-image-7.2+deb14 (= 7.2-1), linux-binary-7.2+deb14 (= 7.2-1)")
        self.assertEqual(names, ["linux-binary-7.2+deb14", "linux-image-7.2+deb14"])

    def test_names_of_a_kernel(self):
        for name in ("./boot/vmlinuz-6.1.0-50-cloud-amd64",
                     "./usr/lib/modules/6.1.0-50-cloud-amd64/vmlinuz"):
            self.assertEqual(debian_kernel.VMLINUZ.search(name).group(1), "6.1.0-50-cloud-amd64")


class LoopEnds(unittest.TestCase):
    def test_a_loop_that_goes_back_by_a_jump(self):
        ways = {0: [(8, False)], 8: [(16, False)], 16: [(24, True), (8, True)], 24: []}
        self.assertEqual(loop_ends.bad_ends(ways, 0), [])

    def test_a_loop_that_is_entered_behind_its_end(self):
        ways = {0: [(16, True)], 8: [(16, False)], 16: [(24, True), (8, True)], 24: []}
        self.assertEqual(loop_ends.bad_ends(ways, 0), [(8, 16)])


class Archives(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cpio"), "no cpio here to read the archive")
    def test_cpio_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            archive, out = os.path.join(folder, "root.cpio"), os.path.join(folder, "out")
            root = GuestRoot()
            root.add_bytes("/a/b/c", b"12345")
            root.add_bytes("/a/b/c", b"again")  # The first one stays.
            root.add_program("/bin/sh", "/bin/sh")
            root.write(archive)
            os.mkdir(out)
            with open(archive, "rb") as file:
                subprocess.run(["cpio", "-idm", "--quiet"], stdin=file, cwd=out, check=True)
            with open(os.path.join(out, "a/b/c"), "rb") as file:
                self.assertEqual(file.read(), b"12345")
            answer = subprocess.run([os.path.join(out, "bin/sh"), "-c", "echo works"],
                                    capture_output=True, text=True, check=True)
            self.assertEqual(answer.stdout, "works\n")
            self.assertTrue(os.path.isdir(os.path.join(out, "proc")))


if __name__ == "__main__":
    unittest.main()
