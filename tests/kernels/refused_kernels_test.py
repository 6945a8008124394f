"""The built program under the names of other kernels: the ones that can hang when a sampler reads
user memory are refused in plain words, also by `doctor`, unless the user insists; fixed ones are
not."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e",
                                "command_line"))
from stackray_command import SamplingCase, run  # noqa: E402

PRELOAD = os.environ.get("OTHER_KERNEL", "build/tests/kernels/libother_kernel.so")
CAN_HANG = (("5.19.17", "#1 SMP"), ("6.0.19-arch", "#1 SMP"),
            ("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.35-1 (2023-06-20)"),
            ("6.2.0-39-generic", "#40 SMP"), ("6.3.9", "#1 SMP"))
FIXED = (("5.10.0-32-cloud-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)"),
         ("5.18.19", "#1 SMP"), ("6.1.0-10-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.36-1 (2023-07-01)"),
         ("6.3.10", "#1 SMP"), ("6.4.0", "#1 SMP"), ("7.9.1", "#1 SMP"))


class RefusedKernels(SamplingCase):
    def run_on(self, kernel, *arguments, **settings):
        environment = {**os.environ, "LD_PRELOAD": os.path.abspath(PRELOAD),
                       "OTHER_RELEASE": kernel[0], "OTHER_BUILD": kernel[1], **settings}
        return run(*arguments, env=environment)

    def record_on(self, kernel, **settings):
        return self.run_on(kernel, "record", "-d", "0.2", "-o", self.path("x.folded"), **settings)

    def test_kernels_that_can_hang(self):
        for kernel in CAN_HANG:
            with self.subTest(kernel=kernel):
                self.assert_failed(self.record_on(kernel), 1, "can hang", "STACKRAY_ALLOW_KERNEL=1")
                doctor = self.run_on(kernel, "doctor")
                self.assertEqual(doctor.returncode, 1, doctor.stdout)
                self.assertIn("can hang", doctor.stdout)
                self.assertIn("update to 6.1.36", doctor.stdout)

    def test_kernels_that_are_too_old(self):
        for kernel in (("4.19.0-27-amd64", "#1 SMP Debian 4.19.316-1"), ("5.9.16", "#1")):
            with self.subTest(kernel=kernel):
                self.assert_failed(self.record_on(kernel), 1, "older than 5.10")
                doctor = self.run_on(kernel, "doctor")
                self.assertEqual(doctor.returncode, 1, doctor.stdout)
                self.assertIn("older than 5.10", doctor.stdout)

    def test_fixed_kernels(self):
        for kernel in FIXED:
            with self.subTest(kernel=kernel):
                answer = self.record_on(kernel)
                self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_a_user_who_insists(self):
        answer = self.record_on(CAN_HANG[0], STACKRAY_ALLOW_KERNEL="1")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        answer = self.record_on(CAN_HANG[0], STACKRAY_ALLOW_KERNEL="0")
        self.assert_failed(answer, 1, "can hang")


if __name__ == "__main__":
    unittest.main()
