# SPDX-License-Identifier: Apache-2.0
"""The examples, and those of docs/python.md, run."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401  sets the store

ROOT = pathlib.Path(__file__).resolve().parents[2]
NO_GPU = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}


class Examples(unittest.TestCase):
    def run_program(self, *command):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [sys.executable, *map(str, command)],
                cwd=directory,
                env=NO_GPU,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("not tuned", done.stderr)
            return done.stdout

    def test_examples(self):
        for program in sorted((ROOT / "examples/python").glob("*.py")):
            with self.subTest(program.name):
                self.assertTrue(self.run_program(program, "host"))

    def test_documentation(self):
        """The blocks of Python follow each other, as in one program."""
        blocks = {
            page: re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
            for page in ("README.md", "docs/python.md")
        }
        self.run_program("-c", "\n".join(blocks["docs/python.md"]))
        # The README shows the same, and another line of the result; and how a kernel is called.
        block, call = blocks["README.md"]
        self.run_program("-c", "import numpy as np\nimport xtune\n" + call + "assert (c == 256).all()")
        self.assertEqual(block.splitlines()[:-1], blocks["docs/python.md"][0].splitlines()[:-1])

    def test_the_page_of_calls(self):
        """Python's block runs; that of C++ is part of an example, which another test runs."""
        page = (ROOT / "docs/calls.md").read_text()
        blocks = re.findall(r"^```([a-z+]+)\n(.*?)^```", page, re.M | re.S)
        sources = {"c++": "calls/calls.cpp"}
        for language, block in blocks:
            with self.subTest(language):
                if language == "python":
                    self.run_program("-c", block + "assert (c == 64).all()")
                    continue
                if language in sources:
                    self.assertIn(block, (ROOT / "examples" / sources[language]).read_text())

    def test_a_script_for_kernel_tuner(self):
        """The page's kernel, and its script with the import changed."""
        page = (ROOT / "docs/from-kernel-tuner.md").read_text()
        kernel = re.search(r"^```c\+\+\n(.*?)^```", page, re.M | re.S).group(1)
        (script,) = [each for each in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "xtune.compat" in each]
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "scale.cu").write_text(kernel)
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=directory, env=NO_GPU, capture_output=True, text=True, check=False
            )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("best performing configuration:", done.stdout)


if __name__ == "__main__":
    unittest.main()
