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
sys.path.insert(0, str(ROOT / "benchmarks" / "kernels"))
import common

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

    def assert_refused(self, words, *arguments):
        done = kernels(*arguments)
        self.assertIn(done.returncode, (1, 2), arguments)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_wrong_values_are_reported_with_their_place(self):
        right = {"kernel": "k", "problem": {"N": 3}, "ours_ms": 1, "others_ms": {"other": 2}}
        for change, words in [({"ours_ms": "fast"}, "results[1].ours_ms is 'fast', and a positive number is needed"),
                              ({"ours_ms": -1}, "results[1].ours_ms is '-1'"), ({"ours_ms": float("nan")}, "results[1].ours_ms is 'nan'"),
                              ({"others_ms": {"other": float("inf")}}, "results[1].others_ms.other is 'inf'"),
                              ({"others_ms": [1]}, "results[1].others_ms is '[1]', and an object is needed"),
                              ({"problem": "N"}, "results[1].problem is 'N'"), ({"kernel": 7}, "results[1].kernel is '7', and a text is needed"),
                              ({"config": 5}, "results[1].config is '5'"), ({"label": 5}, "results[1].label is '5'"),
                              ({"bytes": "x"}, "results[1].bytes is 'x', and a number is needed"), ({"rate": []}, "results[1].rate"),
                              ({"speed": 1}, "results[1] has an unknown member 'speed'")]:
            with self.assertRaises(ValueError) as raised:
                common.Result.of(right | change, "results[1]")
            self.assertIn(words, str(raised.exception))
        self.assert_refused("results[1].ours_ms is '-1'", "--from", self.saved("a.json", [right, right | {"ours_ms": -1}]))
        for text, words in [('{"device": "GPU", "copy_GB_per_s": 0, "results": []}', "copy_GB_per_s is '0'"), ("[]", "the file is '[]'"),
                            ('{"results": [{}]}', "results[0] has no kernel"), ("[" * 100000, "too deep")]:
            (self.folder / "b.json").write_text(text)
            self.assert_refused(words, "--from", self.folder / "b.json")

    def test_options_are_checked_before_anything_is_measured(self):
        saved = self.saved("a.json", [{"kernel": "gemm", "problem": {}, "ours_ms": 1, "others_ms": {"other": 2}}])
        self.assert_refused("its directory does not exist", "--from", saved, "--plot", self.folder / "none" / "a.svg")
        self.assert_refused("its directory does not exist", "--save", self.folder / "none" / "a.json")
        self.assert_refused("Is a directory", "--from", saved, "--save", self.folder)
        self.assert_refused("'nan' is not a positive number", "--seconds", "nan", "--from", saved)
        self.assert_refused("no results of softmax in", "--from", saved, "--only", "softmax", "--save", saved)
        self.assertIn('"gemm"', saved.read_text())

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
