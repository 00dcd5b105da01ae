#!/usr/bin/env python3
"""The picture of docs/kernels.md is drawn by benchmarks/kernels.py, which needs no GPU for that."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAVED = ROOT / "benchmarks" / "kernels" / "h200.json"


def kernels(*words):
    return subprocess.run([sys.executable, str(ROOT / "benchmarks" / "kernels.py"), *map(str, words)], capture_output=True, text=True)


class Picture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def saved(self, name, results, device="GPU"):
        path = self.folder / name
        path.write_text(json.dumps({"device": device, "copy_GB_per_s": 4000, "results": results}))
        return path

    def drawn(self, *files):
        done = kernels(*(word for file in files for word in ("--from", file)), "--plot", self.folder / "a.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "a.svg").read_text()

    def test_the_page_has_the_picture_of_the_saved_results(self):
        self.assertEqual(self.drawn(SAVED), (ROOT / "docs" / "images" / "kernels.svg").read_text(),
                         "draw it again: benchmarks/kernels.py --from benchmarks/kernels/h200.json --plot docs/images/kernels.svg")

    def test_a_bar_ends_at_the_ratio_to_the_fastest_library(self):
        result = {"kernel": "k", "problem": {"M": 2, "N": 3, "TYPE": "f32"}, "ours_ms": 1, "others_ms": {"slow": 9, "fast": 2}}
        picture = self.drawn(self.saved("a.json", [result, result | {"problem": {}, "ours_ms": 4, "label": "a < b"}]))
        bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
        self.assertEqual([kind for kind, _, _ in bars], ["faster", "slower"])
        (_, begin, width), (_, other, other_width) = ((kind, float(x), float(size)) for kind, x, size in bars)
        self.assertAlmostEqual(width, other_width)  # of 2 and 1/2
        self.assertAlmostEqual(begin, other + other_width)  # both begin at 1
        for words in (">2 x 3 f32<", ">a &lt; b<", ">2.00<", ">0.50<", ">fast<"):
            self.assertIn(words, picture)
        self.assertNotIn("slow<", picture)

    def test_a_later_file_replaces_the_same_problem(self):
        result = {"kernel": "k", "problem": {"N": 3}, "ours_ms": 1, "others_ms": {"other": 2}}
        picture = self.drawn(self.saved("a.json", [result]), self.saved("b.json", [result | {"ours_ms": 0.5}]))
        self.assertIn(">4.00<", picture)
        self.assertNotIn(">2.00<", picture)

    def test_what_cannot_be_drawn_is_refused(self):
        alone = self.saved("a.json", [{"kernel": "k", "problem": {}, "ours_ms": 1, "others_ms": {}}])
        (self.folder / "b.json").write_text('{"device": "GPU"}')
        for files, words in [([alone], "so there is no ratio to draw"), ([self.folder / "b.json"], "Name a file that --save has written"),
                             ([self.folder / "none.json"], "No such file"), ([alone, self.saved("c.json", [], "other")], "results of other")]:
            done = kernels(*(word for file in files for word in ("--from", file)), "--plot", self.folder / "a.svg")
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
