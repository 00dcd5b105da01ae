#!/usr/bin/env python3
"""What pages.py finds in a page.

test_pages.py --xtune PROGRAM --parser PROGRAM
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import pages

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SPEC = """A spec, `a.toml`:

```toml
[kernel]
name = "a"
[space.params]
B = [1, 2, 4]
```
"""


class Rules(unittest.TestCase):
    options = None

    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(text, encoding="utf-8")
            return pages.Page(path, "page.md", self.options).test()

    def problem(self, text):
        found = self.problems(text)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_unknown_options_and_commands_are_found_with_their_line(self):
        self.assertIn(
            "page.md:3: unknown option '--evil'",
            self.problem("```\nxtune run a.toml\nxtune run a.toml --evil 3\n```\n"),
        )
        self.assertIn("page.md:2: unknown command 'rnu'", self.problem("```sh\nsrun -n 8 xtune rnu a.toml\n```\n"))
        self.assertIn(
            "page.md:3: unknown option '--nods'",
            self.problem("```console\n$ ls\n$ xtune submit a.toml --nods 4 -- --x\n```\n"),
        )

    def test_lines_without_a_prompt_are_not_run(self):
        self.assertEqual(
            self.problems("```\nxtune run nowhere.toml | head  # a comment's text\nxtune store ls > list.txt\n```\n"),
            [],
        )

    def test_long_lines_and_second_commands_are_read(self):
        self.assertIn("--evil", self.problem("```\nxtune run a.toml \\\n  --evil 3\n```\n"))
        self.assertIn("--evil", self.problem("```\nxtune check a.toml && xtune run a.toml --evil\n```\n"))

    def test_commands_in_the_text_are_parsed(self):
        self.assertEqual(
            self.problems("Say `xtune run`, `xtune run --top N` or `xtune help --man COMMAND | man -l -`.\n"), []
        )
        self.assertEqual(self.problems("A table's `xtune report SPEC\\|STORE`, and `a.toml` for ``xtune rnu``.\n"), [])
        self.assertIn(
            "page.md:6: unknown option '--evil'", self.problem("```text\na\nb\n```\n\nOr `xtune\nrun SPEC --evil`.\n")
        )
        self.assertIn("unknown command 'rnu'", self.problem("| `xtune rnu SPEC` | tunes |\n"))

    def test_other_blocks_are_not_commands(self):
        self.assertEqual(
            self.problems(
                "```text\nxtune run --evil\n```\n```\nxtune rnu \u2500 a diagram\n```\n```\nthe xtune-run page\n```\n"
            ),
            [],
        )

    def test_lines_after_a_prompt_are_run_with_the_files_of_the_page(self):
        self.assertEqual(self.problems(SPEC + "```console\n$ xtune space a.toml\n```\n"), [])
        self.assertIn("page.md:2: exit code 2, not 0", self.problem("```console\n$ xtune space a.toml\n```\n"))
        self.assertEqual(
            self.problems(
                '```\n$ cat b.toml\n[kernel]\nname = "b"\n[space.params]\nB = [1]\n$ xtune space b.toml\n```\n'
            ),
            [],
        )

    def test_markers(self):
        command = "```console\n$ xtune space nowhere.toml\n```\n"
        self.assertEqual(self.problems("<!-- test: parse -->\n" + command), [])
        self.assertEqual(self.problems("<!-- test: exit=2 -->\n" + command), [])
        self.assertIn("exit code 2, not 3", self.problem("<!-- test: exit=3 -->\n" + command))
        self.assertIn("unknown word 'prase'", self.problem("<!-- test: prase -->\n" + command))
        self.assertIn("exit code 2", self.problem("<!-- test: parse -->\n\nOnly the next block.\n\n" + command))
        self.assertEqual(
            self.problems(
                SPEC.replace("A spec, `a.toml`:", "<!-- test: file=c.toml -->") + "```\n$ xtune space c.toml\n```\n"
            ),
            [],
        )

    def test_specs_and_their_parts_are_checked(self):
        self.assertEqual(
            self.problems('```toml\n[measure]\nrep = 3\n```\n```toml\n[objective]\nmaximize = "TFLOPS"\n```\n'), []
        )
        self.assertIn(
            "page.md:1: `xtune check` of this block exits with 2", self.problem("```toml\n[measure]\nreps = 3\n```\n")
        )
        part = '```toml\n%s[space]\nconstraints = ["WIDTH > DEPTH - %s"]\n[space.params]\nB = [1]\n```\n'
        self.assertEqual(self.problems(part % ("", "1")), [])
        self.assertIn("unknown name 'WIDTH'", self.problem(part % ("[problem]\nDEPTH = 3\n", "1")))
        self.assertIn("device.wrap_size", self.problem(part % ("", "device.wrap_size")))
        self.assertIn("page.md:1: not TOML", self.problem("```toml\n[measure\n```\n"))
        self.assertIn("exits with 2", self.problem(SPEC.replace("[1, 2, 4]", "[]")))

    def test_programs_and_suites_are_specs(self):
        self.assertEqual(self.problems('```toml\n[process.metrics]\nGB = { json = "x" }\n```\n'), [])
        self.assertIn("unknown key", self.problem('```toml\n[process]\nrun = "true"\nruns = "true"\n```\n'))
        self.assertIn("exits with 2", self.problem('```toml\n[[suite]]\nspec = "nowhere.toml"\n```\n'))

    def test_what_check_prints_is_compared(self):
        shown = "```console\n$ xtune check a.toml\n%s\n```\n"
        self.assertEqual(self.problems(SPEC + shown % "..."), [])
        problem = self.problem(SPEC + shown % "a.toml: OK: kernel 'b'")
        self.assertIn("does not print this line:\n  a.toml: OK: kernel 'b'", problem)
        printed = problem.split("but\n")[1].splitlines()[0].strip()
        self.assertTrue(printed.startswith("a.toml: OK: kernel 'a'"), printed)
        self.assertEqual(self.problems(SPEC + shown % printed), [])

    def test_what_a_block_says_is_printed_is_compared_without_numbers(self):
        shown = "<!-- test: prints -->\n```console\n$ xtune space a.toml%s\n%s\n```\n"
        found = self.problem(SPEC + shown % ("", "nothing"))
        self.assertIn("shown only:   nothing", found)
        printed = [line.split("printed only: ")[1] for line in found.splitlines() if "printed only: " in line]
        self.assertGreater(len(printed), 0, found)
        self.assertEqual(self.problems(SPEC + shown % ("", "\n".join(printed).replace("0", "17.5"))), [])
        self.assertEqual(self.problems(SPEC + shown % ("", printed[0] + "\n...")), [])
        self.assertIn(
            "no file of the page has 'D = 1' once",
            self.problem(SPEC + "\nNow change `D = 1` to `D = 2`:\n\n" + shown % ("", "...")),
        )
        changed = self.problem(SPEC + "\nNow change `B = [1, 2, 4]` to `B = []`:\n\n" + shown % ("", "..."))
        self.assertIn("exit code 2", changed)

    def test_runs_of_other_times_have_one_shape(self):
        one = """
finals: 3 configurations in 50 rounds; all times are on their scale
        no clear winner: a larger [measure] rep allows more

#     time  vs best   95 % interval  noise  outliers  GFLOPS
-  -------  -------  --------------  -----  --------  ------
1   929 us    1.000                  2.9 %         0   36.13
    B=1 C=2
2  1.15 ms    1.242  1.240 .. 1.250  2.1 %         2   29.28
    B=2 C=1

12 of 12 valid configurations in 2 min 4 s: 12 ok
      1 other is tied with it (within noise or 1 %)
      default: 1.15 ms, 1.24 times the time of the best (B=2 C=1)
"""
        other = """
finals: 12 configurations in 5 rounds; all times are on their scale
        no clear winner: a larger [measure] max_time_ms allows more

 #  time    vs best  95 % interval  noise  GFLOPS  B  C
--  ------  -------  -------------  -----  ------  -  -
 1  9.1 ms    1.000                 2.9 %   36.13  4  2

6 of 12 valid configurations in 3.1 s: 1 ok, 5 pruned
      3 others are tied with it (within noise or 1 %)
      default: at least 9.3 ms, 1.02 times the time of the best (C=1)
"""
        self.assertEqual(pages.shape(one), pages.shape(other))
        self.assertEqual(len(pages.shape(one)), 7)
        self.assertNotEqual(pages.shape(one), pages.shape(one.replace("is tied with", "is like")))
        skipped = "problem N=256 on AMD EPYC (x86_64_v4, host), distance 0: faster, but skipped: 2 of another state"
        self.assertEqual(pages.differences(f"exact: B=4\n{skipped}", "exact: B=4"), ([], []))

    def test_pictures_load_and_run_nothing(self):
        begin = '<svg xmlns="http://www.w3.org/2000/svg">'
        for content, problem in (
            ("<rect/>", None),
            ("<script/>", "loads or runs"),
            ('<image href="a.png"/>', "loads or runs"),
            ("<style>@import 'a.css';</style>", "loads or runs"),
            ("<g>", "no picture"),
            ("<rect/>" * 9000, "bytes"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "a.svg").write_text(f"{begin}{content}</svg>", encoding="utf-8")
                page = pathlib.Path(folder) / "page.md"
                page.write_text("Text.\n\n![a\npicture](a.svg)\n", encoding="utf-8")
                found = pages.Page(page, "page.md", self.options).test()
                self.assertEqual(len(found), 0 if problem is None else 1, found)
                self.assertIn(problem or "", "".join(found))
                self.assertTrue(all(each.startswith("page.md:3: ") for each in found), found)
        self.assertIn("no picture", self.problem("![a](nowhere.svg)\n"))


class Pictures(unittest.TestCase):
    """The programs that draw the pictures of README.md."""

    def drawn(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "a.svg"
            tool = SOURCE / "tools/pictures" / words[0]
            subprocess.run(
                [sys.executable, str(tool), *[str(picture) if word == "SVG" else str(word) for word in words[1:]]],
                check=True,
            )
            return picture.read_text(encoding="utf-8")

    def test_the_recording_is_drawn_as_it_is_shown(self):
        drawing = self.drawn(
            "terminal.py", "svg", SOURCE / "tools/pictures/run.cast", "SVG", "--title", "xtune run row_sum.toml"
        )
        self.assertEqual(drawing, (SOURCE / "docs/images/run.svg").read_text(encoding="utf-8"))
        self.assertIn('<tspan class="b g">best: BLOCK=512 UNROLL=8</tspan>', drawing)

    def test_the_recording_shows_what_is_printed(self):
        events = [
            json.loads(line)
            for line in (SOURCE / "tools/pictures/run.cast").read_text(encoding="utf-8").splitlines()[1:]
        ]
        shown = re.sub(r"\x1b\[[\d;]*[a-zA-Z]", "", "".join(event[2] for event in events)).replace("\r\n", "\n")
        with tempfile.TemporaryDirectory() as folder:
            printed = subprocess.run(
                [str(Rules.options.xtune), "run", str(SOURCE / "examples/row_sum/row_sum.toml"), *pages.TWELVE],
                text=True,
                env=os.environ | {"XTUNE_CACHE_DIR": folder, "COLUMNS": "200"},
                capture_output=True,
                check=True,
            ).stdout
        shown, printed = shown[shown.index("problem: ") :].replace("GB_per_s", "RATE"), re.sub(
            "[GM]B_per_s", "RATE", printed
        )
        self.assertEqual(pages.differences(shown, printed), ([], []))

    def test_a_terminal_shows_what_overwrites_and_what_is_erased(self):
        with tempfile.TemporaryDirectory() as folder:
            cast = pathlib.Path(folder) / "a.cast"
            cast.write_text(
                '{"version": 2}\n[0.0, "o", "long line\\r\\u001b[Kab\\rc"]\n[1.0, "o", "\\r\\n\\u001b[31m'
                + "x" * 85
                + '\\u001b[0m&"]\n'
            )
            still = self.drawn("terminal.py", "svg", cast, "SVG", "--title", "a", "--still")
        self.assertIn(">cb</text>", still)
        self.assertNotIn("long", still)
        self.assertIn(f'<tspan class="r">{"x" * 80}</tspan></text>', still)
        self.assertIn(f'<tspan class="r">{"x" * 5}</tspan>&amp;</text>', still)

    def test_a_plot_of_a_report_stands_by_itself(self):
        report = SOURCE / "tests/unit/report/golden/row_sum.html"
        plot = self.drawn("plot.py", report, "SVG", "--plot", "Best so far against evaluations")
        shown = {element.tag.rpartition("}")[2] for element in xml.etree.ElementTree.fromstring(plot).iter()}
        self.assertLessEqual({"title", "style", "path", "text"}, shown)
        self.assertIn(".line.best{", plot)
        self.assertNotIn("table", plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--xtune", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument(
        "--parser", type=lambda path: pages.Parser(pathlib.Path(path).resolve()), required=True, dest="parse"
    )
    Rules.options, rest = parser.parse_known_args()
    Rules.options.source = SOURCE
    unittest.main(argv=[sys.argv[0], *rest])
