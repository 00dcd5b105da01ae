# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a real SIGINT, in every place where a run may be."""
import os
import signal
import subprocess
import sys
import unittest

from support import HOST, N, arrays, saxpy, xtune

HANGING = """
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  for (volatile long i = 0; i < 100000000000L; i = i + 1) {}
}"""


def interrupt(*_, **__):
    signal.raise_signal(signal.SIGINT)


def wait_in(text):
    """A program that prints `ready`, waits inside a run, and reports KeyboardInterrupt."""
    return f"""
import os, sys, threading, time
sys.path.insert(0, {os.path.dirname(__file__)!r})
from support import *
def ready(*_, **__):
    print("ready", flush=True)
try:
    {text}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Interrupts(unittest.TestCase):
    def test_measurements_are_kept(self):
        tunable = saxpy(name="interrupted", entry="saxpy")
        with self.assertRaises(KeyboardInterrupt):
            xtune.tune(tunable, on_measurement=interrupt, **HOST)
        again = xtune.tune(tunable, **HOST)
        self.assertEqual(again.counts, {"ok": 4})
        self.assertGreaterEqual(again.from_store, 1)

    def test_references_checks_and_constraints_end_the_run(self):
        for place in ({"reference": interrupt}, {"check": interrupt}, {"constraints": [lambda BLOCK: interrupt()]}):
            with self.subTest(str(place)):
                tunable = saxpy(name="ended", entry="saxpy", **place)
                with self.assertRaises(KeyboardInterrupt):
                    xtune.tune(tunable, **HOST)
                clean = saxpy(name="ended", entry="saxpy")
                self.assertNotIn("wrong_result", xtune.tune(clean, **HOST).counts)

    def test_a_handler_of_the_application_decides(self):
        seen = []
        previous = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            result = xtune.tune(saxpy(), fresh=True, progress=lambda progress: seen or interrupt(), **HOST)
        finally:
            signal.signal(signal.SIGINT, previous)
        self.assertEqual((result.counts, seen), ({"ok": 4}, [1]))

    def test_a_call_that_tunes_is_interrupted(self):
        kernel = xtune.load(
            saxpy(name="called", entry="saxpy", reference=interrupt), backend="host", policy="tune_once"
        )
        x, y = arrays()
        with self.assertRaises(KeyboardInterrupt):
            kernel(x, y, 1.0, N)

    def test_a_run_that_waits_is_interrupted(self):
        hanging = f"xtune.tune(saxpy(source={HANGING!r}, measure=dict(QUICK, timeout_s=600)), progress=ready, **HOST)"
        # The kernel hangs in a worker; the first event is the signal.
        programs = {
            "a kernel that hangs": "threading.Timer(2, ready).start(); " + hanging,
            "another thread's run": "threading.Thread(target=lambda: xtune.tune(saxpy(), on_measurement=lambda m: "
            "(ready(), time.sleep(600)), **HOST), daemon=True).start(); time.sleep(0.5); "
            "xtune.tune(saxpy(), **HOST)",
        }
        for name, text in programs.items():
            with self.subTest(name):
                # os._exit in the end: a daemon thread is still in its run.
                program = subprocess.Popen(
                    [sys.executable, "-c", wait_in(text) + "os._exit(0)"],
                    stdout=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
                self.assertEqual(program.stdout.readline(), "ready\n")
                program.send_signal(signal.SIGINT)
                self.assertEqual(program.stdout.readline(), "interrupted\n")
                self.assertEqual(program.wait(60), 0)
                program.stdout.close()


class Endings(unittest.TestCase):
    def test_a_program_may_end_while_it_tunes(self):
        programs = {
            "in the background": "kernel = xtune.load(saxpy(reference=lambda x, y: 2 * x + y), backend='host', "
            "policy='tune_in_background'); kernel(*arrays(), 1.0, N)",
            "in a thread": "began = threading.Event(); threading.Thread(target=lambda: xtune.tune(saxpy(), fresh=True, "
            "progress=lambda p: (began.set(), time.sleep(0.5)), **HOST), daemon=True).start(); began.wait()",
        }
        for name, text in programs.items():
            with self.subTest(name):
                done = subprocess.run(
                    [sys.executable, "-c", wait_in(text)], capture_output=True, text=True, timeout=120, check=False
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
