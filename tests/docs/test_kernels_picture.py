#!/usr/bin/env python3
"""What benchmarks/kernels.py does without a GPU: it draws the pictures of docs/kernels.md, and knows what it would measure."""
import importlib
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks" / "kernels"))
import common

SAVED = ROOT / "benchmarks" / "kernels" / "h200.json"


def kernels(*words):
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "kernels.py"), *map(str, words)], capture_output=True, text=True
    )


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
        """The pictures by their kernels' names."""
        done = kernels(*(word for file in files for word in ("--from", file)), "--plot", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.stem: path.read_text() for path in self.folder.glob("*.svg")}

    def test_the_page_has_the_pictures_and_ratios_of_the_saved_results(self):
        self.assertEqual(
            self.drawn(SAVED),
            {path.stem: path.read_text() for path in (ROOT / "docs/images/kernels").iterdir()},
            "draw again: benchmarks/kernels.py --from benchmarks/kernels/h200.json --plot docs/images/kernels",
        )
        page = (ROOT / "docs/kernels.md").read_text()
        ratios = {}
        for saved in json.loads(SAVED.read_text())["results"]:
            ratios.setdefault(saved["kernel"], []).append(common.Result.of(saved, "result").ratio())
        for kernel, own in ratios.items():
            self.assertIn(f"](images/kernels/{kernel}.svg)", page)
            row = re.search(rf"^\| \[`{kernel}`\]\(#{kernel}\) .*", page, re.M)[0]
            shown = [float(number) for number in re.findall(r"\d+\.\d\d", row)]
            self.assertEqual((shown[0], shown[-1]), (round(min(own), 2), round(max(own), 2)), kernel)

    def test_a_bar_ends_at_the_ratio_to_the_fastest_library(self):
        result = {
            "kernel": "k",
            "problem": {"M": 2, "N": 3, "TYPE": "f32"},
            "ours_ms": 1,
            "others_ms": {"slow": 9, "fast": 2},
            "bytes": 3e9,
        }
        other = result | {"problem": {}, "ours_ms": 4, "label": "a < b", "flops": 134e9, "rate": "f32"}
        picture = self.drawn(self.saved("a.json", [result, other]))["k"]
        bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
        self.assertEqual([kind for kind, _, _ in bars], ["faster", "slower"])
        (_, begin, width), (_, other, other_width) = ((kind, float(x), float(size)) for kind, x, size in bars)
        self.assertAlmostEqual(width, other_width)  # of 2 and 1/2
        self.assertAlmostEqual(begin, other + other_width)  # both begin at 1
        for words in (">2 x 3 f32<", ">a &lt; b<", ">2.00<", ">0.50<", ">fast<", ">75 %<", ">50 %<"):
            self.assertIn(words, picture)
        self.assertNotIn("slow<", picture)

    def test_a_later_file_replaces_the_same_problem(self):
        result = {"kernel": "k", "problem": {"N": 3}, "ours_ms": 1, "others_ms": {"other": 2}}
        picture = self.drawn(self.saved("a.json", [result]), self.saved("b.json", [result | {"ours_ms": 0.5}]))["k"]
        self.assertIn(">4.00<", picture)
        self.assertNotIn(">2.00<", picture)

    def test_each_kernel_has_a_picture_on_one_scale(self):
        result = {"ours_ms": 1, "problem": {"N": 1}}
        first = result | {"kernel": "gemm", "others_ms": {"other": 2}}
        pictures = self.drawn(self.saved("a.json", [first, result | {"kernel": "spmv", "others_ms": {"other": 30}}]))
        self.assertEqual(set(pictures), {"gemm", "spmv"})
        for picture in pictures.values():
            self.assertIn(">32</text>", picture)

    def assert_refused(self, words, *arguments):
        done = kernels(*arguments)
        self.assertIn(done.returncode, (1, 2), arguments)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_wrong_values_are_reported_with_their_place(self):
        right = {"kernel": "k", "problem": {"N": 3}, "ours_ms": 1, "others_ms": {"other": 2}}
        for change, words in [
            ({"ours_ms": "fast"}, "results[1].ours_ms is 'fast', and a positive number is needed"),
            ({"ours_ms": -1}, "results[1].ours_ms is '-1'"),
            ({"ours_ms": float("nan")}, "results[1].ours_ms is 'nan'"),
            ({"others_ms": {"other": float("inf")}}, "results[1].others_ms.other is 'inf'"),
            ({"others_ms": [1]}, "results[1].others_ms is '[1]', and an object is needed"),
            ({"problem": "N"}, "results[1].problem is 'N'"),
            ({"kernel": 7}, "results[1].kernel is '7', and a text is needed"),
            ({"config": 5}, "results[1].config is '5'"),
            ({"label": 5}, "results[1].label is '5'"),
            ({"bytes": "x"}, "results[1].bytes is 'x', and a number is needed"),
            ({"rate": []}, "results[1].rate"),
            ({"speed": 1}, "results[1] has an unknown member 'speed'"),
        ]:
            with self.assertRaises(ValueError) as raised:
                common.Result.of(right | change, "results[1]")
            self.assertIn(words, str(raised.exception))
        self.assert_refused(
            "results[1].ours_ms is '-1'", "--from", self.saved("a.json", [right, right | {"ours_ms": -1}])
        )
        for text, words in [
            ('{"device": "GPU", "copy_GB_per_s": 0, "results": []}', "copy_GB_per_s is '0'"),
            ("[]", "the file is '[]'"),
            ('{"results": [{}]}', "results[0] has no kernel"),
            ("[" * 100000, "too deep"),
        ]:
            (self.folder / "b.json").write_text(text)
            self.assert_refused(words, "--from", self.folder / "b.json")

    def test_options_are_checked_before_anything_is_measured(self):
        saved = self.saved("a.json", [{"kernel": "gemm", "problem": {}, "ours_ms": 1, "others_ms": {"other": 2}}])
        self.assert_refused("the directory does not exist", "--from", saved, "--plot", self.folder / "none")
        self.assert_refused("the directory does not exist", "--save", self.folder / "none" / "a.json")
        self.assert_refused("Is a directory", "--from", saved, "--save", self.folder)
        self.assert_refused("'nan' is not a positive number", "--seconds", "nan", "--from", saved)
        self.assert_refused("no results of softmax in", "--from", saved, "--only", "softmax", "--save", saved)
        self.assertIn('"gemm"', saved.read_text())

    def test_what_cannot_be_drawn_is_refused(self):
        alone = self.saved("a.json", [{"kernel": "k", "problem": {}, "ours_ms": 1, "others_ms": {}}])
        (self.folder / "b.json").write_text('{"device": "GPU"}')
        for files, words in [
            ([alone], "so there is no ratio to draw"),
            ([self.folder / "b.json"], "Name a file that --save has written"),
            ([self.folder / "none.json"], "No such file"),
            ([alone, self.saved("c.json", [], "other")], "results of other"),
        ]:
            done = kernels(*(word for file in files for word in ("--from", file)), "--plot", self.folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


class Cases(unittest.TestCase):
    def setUp(self):
        spec = importlib.util.spec_from_file_location("benchmarks_kernels", ROOT / "benchmarks" / "kernels.py")
        self.program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.program)

    def cases(self):
        """(kernel, problem) of the groups whose modules do not import PyTorch."""
        for group in ("gemm", "attention", "rows", "stencils"):
            module = importlib.import_module(group)
            found = [
                (module.kernel_of(case), case.problem if hasattr(case, "problem") else case[1]) for case in module.CASES
            ]
            self.assertEqual({kernel for kernel, _ in found}, set(self.program.GROUPS[group]))
            yield from found

    def test_they_name_what_the_specs_have(self):
        for kernel, problem in self.cases():
            known = tomllib.loads((ROOT / "configs" / f"{kernel}.toml").read_text())["problem"]
            self.assertLessEqual(set(problem), set(known), kernel)

    def test_measuring_again_replaces_the_saved_results(self):
        cases = list(self.cases())
        measured = {kernel for kernel, _ in cases}
        for result in self.program.read(SAVED).results:
            if result.kernel in measured:
                self.assertIn((result.kernel, result.problem), cases)

    def test_a_spec_for_lengths_of_sequences_finds_its_files(self):
        attention = importlib.import_module("attention")
        with attention.spec_of(attention.VARIABLE, [0, 3, 10]) as path:
            spec = tomllib.loads(path.read_text())
            starts = next(argument for argument in spec["args"] if argument["name"] == "starts")["file"]
            self.assertEqual(pathlib.Path(starts).read_bytes()[128:], bytes([0, 0, 0, 0, 3, 0, 0, 0, 10, 0, 0, 0]))
            for source in (spec["kernel"]["source"], spec["validate"]["reference"]["source"]):
                self.assertTrue(pathlib.Path(source).is_absolute() and pathlib.Path(source).is_file(), source)

    def test_libraries_that_fail_or_are_wrong_have_no_time(self):
        def fails():
            raise ImportError("not here\nmore")

        libraries = {
            "missing": fails,
            "wrong": lambda: (int, lambda result: 0.5),
            "none": lambda: (int, lambda result: float("nan")),
            "right": lambda: (int, lambda result: 1e-6),
            "own": lambda: (int, None),
        }
        with unittest.mock.patch.object(
            common, "time_torch", lambda torch, call, fills: 2.0
        ), unittest.mock.patch.object(common, "note") as note:
            self.assertEqual(common.library_times(None, "here", libraries), {"right": 2.0, "own": 2.0})
        self.assertEqual(
            [call.args[0] for call in note.call_args_list],
            [
                "here: missing does not run: not here",
                "here: wrong is not counted: its result differs by 0.5 of its norm",
                "here: none is not counted: its result differs by nan of its norm",
            ],
        )


if __name__ == "__main__":
    unittest.main()
