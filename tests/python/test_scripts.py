# SPDX-License-Identifier: Apache-2.0
"""The scripts that the program runs for kbench's YAML, C++ headers, decision trees and vLLM's tables."""
import ast
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/xtune"))
from compat import _text, headers, kbench, tables, vllm  # noqa: E402

HEAD = "name: g\nfile: a b.mojo\n"


class Kbench(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        for name in ("a b.mojo", "bench.py"):
            (self.directory / name).touch()

    def file(self, text, name="x.yaml"):
        data = text if isinstance(text, bytes) else text.encode()
        text = data.decode(errors="replace")
        return {"path": str(self.directory / name), "text": text, "utf8": text.encode() == data}

    def specs(self, *texts, shapes=(), **options):
        request = {"params": [], "cases": [], "metrics": [], "build_opts": [], "device": "host", "stem": "x", **options}
        request["files"] = [self.file(text) for text in texts]
        request["shapes"] = [self.file(text) for text in shapes]
        return kbench.answer(request, [])

    def parsed(self, text, **options):
        (spec,) = self.specs(text, **options)
        return tomllib.loads(spec["spec"])

    def values(self, text, **options):
        return self.parsed(text, **options)["space"]["params"]

    def failure(self, text, **options):
        try:
            self.specs(text, **options)
        except _text.Refused as error:
            self.assertEqual(error.kind, "invalid_argument")
            return str(error).removeprefix(str(self.directory / "x.yaml"))
        return "no failure"

    @staticmethod
    def rows(spec):
        return spec["configs"].splitlines()[1:]

    def test_a_mapping_of_values_is_a_product_and_a_dollar_marks_what_the_program_takes_when_it_runs(self):
        spec = self.parsed(
            "name: gemm\nfile: a b.mojo\nparams:\n  M: [8192, 2**10]\n  dtype: DType.float16\n  $x: [0, 1, 1]\n"
            '  T: ["True", "False"]\n'
        )
        self.assertEqual(spec["kernel"]["name"], "gemm")
        self.assertEqual(
            spec["space"]["params"],
            {"M": [8192, 1024], "dtype": ["DType.float16"], "x": [0, 1], "T": ["True", "False"]},
        )
        file, process = str(self.directory / "a b.mojo"), spec["process"]
        self.assertEqual(
            process["build"],
            ["mojo", "build", "-D", "M={M}", "-D", "dtype={dtype}", "-D", "T={T}", file, "-o", "{out}"],
        )
        self.assertEqual(process["run"], ["{out}", "--x={x}", "-o", "{tmp}/kbench.csv"])
        self.assertEqual(process["time"], {"csv": "met (ms)", "file": "{tmp}/kbench.csv"})

    def test_groups_follow_each_other_and_those_of_other_names_are_another_spec(self):
        one, two = self.specs(
            HEAD + "params:\n- {stages: [4, 8], $x: [0, 1]}\n- {stages: 2, $x: [1, 2]}\n- {only: 1}\n"
            "- {stages: 4, $x: [0, 5], metadata: {a: 1}}\n"
        )
        self.assertEqual(two["stem"], "x-2")
        self.assertEqual(self.rows(one), ["4,0", "4,1", "4,5", "8,0", "8,1", "2,1", "2,2"])
        self.assertEqual(two["configs"], "")

    def test_rules_are_constraints_where_they_apply(self):
        head = HEAD + "rules:\n- $x <= stages\n- other > 5\nparams:\n"
        spec, other = self.specs(head + "- {stages: [1, 2], $x: [1, 2]}\n- other: [4, 6]\n")
        self.assertEqual(tomllib.loads(spec["spec"])["space"]["constraints"], ["x <= stages"])
        self.assertEqual(tomllib.loads(other["spec"])["space"]["constraints"], ["other > 5"])
        two = "- {stages: [1, 2], $x: [1, 2]}\n- {stages: 3, $x: 4}\n- {stages: 7, $x: 4}\n- other: 6\n"
        self.assertEqual(self.rows(self.specs(head + two)[0]), ["1,1", "2,1", "2,2", "7,4"])

    def test_a_rule_keeps_its_texts_and_whole_names_or_is_refused(self):
        params = "params: {$bench-max: [8, 16], $bench-max-iters: [1, 300], a.b: [1, 2], W: ['a$b', c]}\n"
        for rule, constraint in (
            ("$bench-max-iters < 100", "bench_max_iters < 100"),
            ("$bench-max-1 < 100 and $bench-max - $W", "bench_max-1 < 100 and bench_max - W"),
            ("$bench-max*$a.b < 3e2", "bench_max*a_b < 3e2"),
            ("W != 'a$b'", "W != 'a$b'"),
            ('W != "$W\\"$bench-max" and $W', 'W != "$W\\"$bench-max" and W'),
            ("1 > 2", "1 > 2"),
        ):
            spec = self.parsed(f"{HEAD}{params}rules:\n- {rule}\n")
            self.assertEqual(spec["space"]["constraints"], [constraint])
        for rule, why in (
            ("TIEL < 10", "no parameter 'TIEL' (did you mean 'TILE'?)"),
            ("TILE > 1 and K < 10", "is about K, too, which the group of TILE does not have: write the rest as a rule"),
            ("1 < TILE < K", "is about K, too"),
            ("TILE if TILE else K", "is about K, too"),
            ("$TILE-iters < 3", "no parameter 'iters'"),
            ("TILE in [2**i for i in range(K)]", "no failure"),  # kbench: what reads a missing name holds
            ("TILE > 1 or K < 10", "no failure"),
        ):
            found = self.failure(f'{HEAD}params:\n- TILE: [1, 2]\n- K: 3\nrules: ["{rule}"]\n')
            self.assertIn(why, found)
        self.assertIn(
            "no parameter 'T'", self.failure(HEAD + "params: {T: 1}\n", shapes=["params: {M: 1}\nrules: [T < M]"])
        )

    def test_metrics_of_one_title_are_named_with_their_units(self):
        text = "name: g\nfile: bench.py\nparams: {M: 1}\n"
        metrics = self.parsed(text, metrics=["A (x)", "A (y/s)", "B (z)", "A (x)"])["process"]["metrics"]
        self.assertEqual(
            {name: one["csv"] for name, one in metrics.items()}, {"A__x": "A (x)", "A__y_s": "A (y/s)", "B": "B (z)"}
        )
        self.assertIn("'A.b' and 'A-b' would have the same name, A_b", self.failure(text, metrics=["A.b", "A-b"]))

    def test_rules_of_one_of_several_files_are_for_its_own_cases_and_shapes(self):
        files = HEAD + "params: {M: 64, T: [8, 16]}\nrules: [T < 16]\n", HEAD + "params: {M: 128, T: [8, 16]}\n"
        for some in (files, files[::-1]):
            specs = [tomllib.loads(one["spec"]) for one in self.specs(*some, cases=["M"])]
            rules = {case["M"]: spec["space"].get("constraints") for spec in specs for case in spec["cases"]}
            self.assertEqual(rules, {64: ["T < 16"], 128: None})
        about_shapes = HEAD + "params: {M: 64, T: [8, 16]}\nrules: [N < 100]\n", files[1]
        specs = [tomllib.loads(one["spec"]) for one in self.specs(*about_shapes, shapes=["params: {N: [10, 1000]}"])]
        cases = {str(spec["space"]["params"]["M"]): [case["N"] for case in spec["cases"]] for spec in specs}
        self.assertEqual(cases, {"[64]": [10], "[128]": [10, 1000]})

    def test_configurations_of_groups_are_those_that_python_finds(self):
        rules = [
            "M % N == 0 or M > 6",
            "1 < M <= 7 and not N == 3",
            "M in [2, 3, 4] if N < 3 else M // N >= 1",
            "min(M, N) ** 2 < M + N * 3",
            "dtype != 'b' or M * 2 >= N",
        ]
        for some in itertools.chain(([one] for one in rules), itertools.combinations(rules, 3)):
            listed = "".join(f'- "{rule}"\n' for rule in some)
            (spec,) = self.specs(
                f"{HEAD}rules:\n{listed}params:\n- {{M: '[i for i in range(1, 9)]', N: [1, 2, 3], dtype: [a, b]}}\n"
                "- {M: 9, N: 1, dtype: a}\n"
            )
            expected = [
                f"{M},{N},{dtype}"
                for M in range(1, 10)
                for N in (1, 2, 3)
                for dtype in "ab"
                if (M < 9 or (N, dtype) == (1, "a"))
                and all(eval(rule, {"M": M, "N": N, "dtype": dtype}) for rule in some)
            ]
            self.assertEqual(self.rows(spec), expected, some)

    def test_values_that_are_words_in_one_group_are_words_in_all(self):
        (spec,) = self.specs(HEAD + "params:\n- {s: [4, 8]}\n- {s: 4x4}\n")
        self.assertEqual(tomllib.loads(spec["spec"])["space"]["params"]["s"], ["4", "8", "4x4"])

    def test_a_value_that_is_not_utf_8_is_refused_where_the_file_has_it(self):
        self.assertEqual(
            self.failure((HEAD + 'params: {A: [x, "y').encode() + b'\xff"]}\n'), ":3:17: A: a value is not valid UTF-8"
        )

    def test_integers_and_floats_of_a_name_are_all_floats(self):
        params = self.values(HEAD + "params: {B: [0.5, 1, 4/2, 1.0], C: [8/2, 7//2]}\nrules: [B > 0.75]\n")
        self.assertEqual(repr(params), "{'B': [0.5, 1.0, 2.0], 'C': [4.0, 3.0]}")
        (two,) = self.specs(HEAD + "params:\n- {B: [0.5, 1]}\n- {B: [1, 2]}\nrules: [B > 0.75]\n")
        self.assertEqual(self.rows(two), ["1.0", "2.0"])
        params = self.values(HEAD + "params: {B: [0.5, 1, two, 2**3], C: [1e999, 1], D: 9223372036854775808}\n")
        self.assertEqual(params, {"B": ["0.5", "1", "two", "2**3"], "C": ["1e999", "1"], "D": ["9223372036854775808"]})

    def test_a_python_benchmark_is_run_without_a_build(self):
        process = self.parsed("name: g\nfile: bench.py\nparams: {M: [1, 2], $x: 3}\n")["process"]
        self.assertNotIn("build", process)
        self.assertEqual(
            process["run"],
            ["python3", str(self.directory / "bench.py"), "--M={M}", "--x={x}", "-o", "{tmp}/kbench.csv"],
        )

    def test_the_files_variables_are_the_environments_and_options_go_into_the_build(self):
        os.environ["XTUNE_TEST_ROOT"] = str(self.directory)
        for file in ("$XTUNE_TEST_ROOT/a b.mojo", "${XTUNE_TEST_ROOT}/a b.mojo"):
            spec = self.parsed(
                f"name: g/h\nfile: {file}\nparams: {{M: 1}}\n", build_opts=["-O3", "a {b}"], device="cuda"
            )
            self.assertEqual(spec["kernel"]["name"], "g_h")
            self.assertEqual(spec["process"]["build"][2:4], ["-O3", "a {{b}}"])
            self.assertEqual(spec["process"]["device"], "cuda")
        del os.environ["XTUNE_TEST_ROOT"]
        self.assertEqual(
            self.failure("name: g\nfile: $XTUNE_TEST_ROOT/x.mojo\nparams: {M: 1}\n"),
            ":2:7: file: the environment has no XTUNE_TEST_ROOT: set it to where the benchmarks are",
        )

    def test_a_name_that_no_spec_can_have_is_reported_at_its_place(self):
        for name, why in (
            ("out", "is a place in the commands of [process]"),
            ("$tmp", "is a place in the commands"),
            ("device", "has its own meaning in expressions"),
            ("and", "has its own meaning"),
            ('"true"', "has its own meaning"),
            ("time_ms", "has its own meaning"),
            ("a b", "'a b' is not a C identifier"),
        ):
            found = self.failure(f"{HEAD}params:\n  A: 1\n  {name}: [1, 2]\n")
            self.assertTrue(found.startswith(":5:3: parameter '"), found)
            self.assertIn(why, found)

    def test_merge_keys_merge_and_what_the_mapping_says_itself_counts(self):
        (spec,) = self.specs(
            HEAD + "params:\n- &a {M: [1, 2], $N: 3, metadata: {x: 1}}\n- &b {M: 7, <<: *a}\n"
            "- {<<: [*b, *a], $N: [4, 5]}\n"
        )
        self.assertEqual(self.rows(spec), ["1,3", "2,3", "7,3", "7,4", "7,5"])
        self.assertEqual(self.failure(HEAD + "params: {<<: 3}\n"), ":3:14: << merges a mapping, or a list of them")
        self.assertIn("merges of merges, more than 32 deep", self.failure(HEAD + "params: &a {<<: *a}\n"))
        bomb = "metadata:\n- &a0 {M: 1}\n" + "".join(f"- &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 30))
        self.assertIn("more than 100000 values", self.failure(HEAD + bomb + "params: {<<: *a29}\n"))

    def test_keys_that_are_there_twice_and_further_documents_are_reported_where_they_are(self):
        head = HEAD + "params:\n  A: 1\n"
        for text, message in (
            ("  A: [3, 4]\n", ":5:3: 'A' is there twice"),
            ("  $A: [3, 4]\n", ":5:3: 'A' is there twice, with $ and without"),
            ("params: {A: 2}\n", ":5:1: 'params' is there twice"),
            ("  ? [a]\n  : 3\n", ":5:5: a key is a word"),
            ("? [a]\n: 3\n", ":5:3: a key is a word"),
        ):
            self.assertEqual(self.failure(head + text), message)
        self.assertIn(": a second document, behind ---: a kbench file is one", self.failure(head + "---\nname: z\n"))
        self.assertEqual(self.failure("---\n" + head + "...\n"), "no failure")

    def test_keys_beside_params_hold_what_groups_merge(self):
        params = self.values(
            HEAD + "sizes: &sizes\n  $M: [1, 2]\ncommons: &c {K: 3, <<: *sizes}\nparams:\n- <<: *c\n"
            "  N: 4\n  metadata:\n    MODEL: [a/b, c]\n"
        )
        self.assertEqual(params, {"M": [1, 2], "K": [3], "N": [4]})

    def test_an_option_that_is_no_identifier_keeps_its_spelling_in_the_command(self):
        spec = self.parsed(
            HEAD + "rules: [$max-iters > 1 and a.b < 3]\nparams: {block: [1, 2], $max-iters: [1, 7], a.b: 2}\n"
        )
        self.assertEqual(list(spec["space"]["params"]), ["block", "max_iters", "a_b"])
        self.assertEqual(spec["process"]["run"][1], "--max-iters={max_iters}")
        self.assertEqual(spec["process"]["build"][5], "a.b={a_b}")
        self.assertIn("is there twice", self.failure(HEAD + "params: {$a-b: 1, $a_b: 2}\n"))

    def test_values_that_are_python_literals_are_evaluated(self):
        for text, values in (
            ('"[i for i in range(4)]"', [0, 1, 2, 3]),
            ('"[2048, 4096]"', [2048, 4096]),
            ('["[1, 2]", "(3, [4, 5])", 6]', [1, 2, 3, 4, 5, 6]),
            ("\"'[2,2,2,2]'\"", ["[2,2,2,2]"]),
            ('"range(8, 2, -3)"', [8, 5]),
            ('"list(range(2)) "', [0, 1]),
            ("-9223372036854775808", [-(2**63)]),
            ('"[2**i * j for i in range(3) if i != 1 for j in (1, 10)]"', [1, 10, 4, 40]),
            ('"[\'a, b\', \\"c\\"]"', ["a, b", "c"]),
            ('"[x in [1, 2] for x in [1, 3]]"', ["True", "False"]),
            ("64x64", ["64x64"]),
            ('[DType.float16, "[1, 2]"]', ["DType.float16", "[1, 2]"]),
        ):
            self.assertEqual(self.values(f"{HEAD}params:\n  A: {text}\n")["A"], values, text)

    def test_expressions_have_the_values_that_specs_and_python_give_them(self):
        table = pathlib.Path(__file__).resolve().parents[1] / "unit/space/expressions.def"
        rows = [ast.literal_eval(f"({line[1:-2]})") for line in table.read_text().splitlines() if line.startswith("{")]
        self.assertGreater(len(rows), 150)
        names = {"M": 4096, "ZERO": 0, "HALF": 0.5, "ON": True, "KIND": "row", "true": True, "false": False}
        functions = {name: kbench.ARITHMETIC[name] for name in ("ceildiv", "pow2", "log2")}
        functions["log2"] = lambda a: a.bit_length() - 1
        kinds = {"int": int, "large": int, "float": float, "str": str, "bool": bool}
        for text, expected in rows:
            kind, _, written = expected.partition(" ")
            wanted = written == "true" if kind == "bool" else kinds[kind](written)
            values = [eval(f"({text})", {**functions, **names})]
            # What kbench's parameters can hold.
            if kind != "large" and "2 ** 6" not in text and not re.search(r"[0-9A-F_]{19}", text):
                values.append(kbench.Expression(f"({text})")(names))
            for value in values:
                self.assertIs(type(value), kinds[kind], text)
                self.assertTrue(value == wanted or value != value and wanted != wanted, f"{text}: {value}")

    def test_other_python_is_refused_at_its_place(self):
        for text, message in (
            ("len(x)", ":4:6: A: the Python value len(x) cannot be evaluated: "),
            ('[1, "[f(i) for i in range(3)]"]', ":4:10: A: the Python value [f(i) for i in range(3)] cannot be"),
            ('"{1, 2}"', "Write the values as a list, or a word in quotes within quotes"),
            ('"[1, 2"', "was never closed"),
            ('"[i for i in range(9) for j in range(99999)]"', "more than 100000 values"),
            ('"[1 for i in range(10**10)]"', "more than 100000 values"),
            ("[1, 2**1000]", ":4:10: A: the Python value 2**1000 cannot be evaluated: "),
            ("2.0**5000", "does not fit a float"),
            ("[two, 9223372036854775807 + 1]", "does not fit a 64-bit integer"),
            ("1//0", "A: the Python value 1//0 cannot be evaluated: "),
            ('"range(1, 2, 0)"', "must not be zero"),
            ("\"'a' * 9**9\"", "arithmetic needs numbers"),
            ("\"__import__('os')\"", "unknown function '__import__'"),
            ('"[i for i, j in [1]]"', "only one name can follow 'for'"),
            ('"[i.real for i in [1]]"', "unknown name"),
            ('"[(lambda: 1)() for i in [1]]"', "cannot be evaluated"),
            ('"[' + "(" * 900 + '"', "cannot be evaluated"),
        ):
            self.assertIn(message, self.failure(f"{HEAD}params:\n  A: {text}\n"), text)

    def test_param_replaces_a_names_values_in_every_group_or_adds_the_name(self):
        text = HEAD + "params:\n- {$M: 9, N: 1}\n- {$M: 8, N: 2}\n"
        (spec,) = self.specs(
            text, params=["M:[1, 2]", "$dtype:[bf16, f32]", "x-y:7", "M:[i for i in range(3, 5)]", "K:2**3"]
        )
        parsed = tomllib.loads(spec["spec"])
        self.assertEqual(parsed["space"]["params"]["M"], [1, 2, 3, 4])
        self.assertEqual(len(self.rows(spec)), 16)
        self.assertEqual(parsed["process"]["build"][5], "x-y={x_y}")
        self.assertEqual(self.failure(text, params=["M"]), "--param 'M': write NAME:VALUE or NAME:[VALUE, VALUE]")
        self.assertIn("unknown function 'len'", self.failure(text, params=["M:len(x)"]))
        self.assertIn("a value is missing", self.failure(text, params=["M:[a,,b]"]))

    def test_cases_turns_sizes_into_cases_of_one_space(self):
        head = HEAD + "rules: [M < 9, M >= T]\nparams:\n"
        spec = self.parsed(
            head + "- {$M: [4, 8, 16], N: 1, T: [1, 5]}\n- {$M: [8, 2], N: [1, 2], T: [1, 5]}\n", cases=["$M", "N"]
        )
        # The rule leaves no 16, and (8, 1) comes once.
        self.assertEqual([(case["M"], case["N"]) for case in spec["cases"]], [(4, 1), (8, 1), (8, 2), (2, 1), (2, 2)])
        self.assertEqual(spec["space"], {"constraints": ["M >= T"], "params": {"T": [1, 5]}})
        self.assertEqual(spec["process"]["run"][1], "--M={M}")
        two = self.specs(head + "- {$M: 4, N: 1, T: [1, 5]}\n- {$M: 2, N: 2, T: 1}\n", cases=["M", "N"])
        self.assertEqual([len(tomllib.loads(one["spec"])["cases"]) for one in two], [1, 1])
        self.assertEqual(
            self.failure(head + "- {$M: 4, N: 1}\n", cases=["MM"]), "--cases: no parameter 'MM' (did you mean 'M'?)"
        )
        all_taken = self.parsed(head + "- {$M: [4, 5], N: 1, T: 1}\n", cases=["M", "N", "T"])
        self.assertEqual(len(all_taken["cases"]), 2)

    def test_several_files_are_groups_of_one_benchmark(self):
        (spec,) = self.specs(HEAD + "params: {M: [1, 2]}\nrules: [M > 1]\n", HEAD + "params: {M: [1, 3]}\n")
        self.assertEqual(self.rows(spec), ["1", "2", "3"])
        with self.assertRaisesRegex(_text.Refused, "import them one by one"):
            self.specs(HEAD + "params: {M: 1}\n", "name: h\nfile: a b.mojo\nparams: {M: 1}\n")

    def test_a_file_that_is_not_kbenchs_is_refused_with_place_and_reason(self):
        rules = HEAD + "params: {M: 1}\nrules:"
        for text, message in (
            ("- 1\n", ":1:1: a kbench file is a mapping with name, file and params"),
            ("", ":1:1: a kbench file is"),
            ("name: g\nparams: {M: 1}\n", "the key 'file' is missing"),
            (HEAD, "the key 'params' is missing: nothing to tune"),
            ("name: [x\n", ":2:1: not valid YAML: "),
            (HEAD + "params:\n", "the key 'params' is missing: nothing to tune"),
            (HEAD + "param: {M: 1}\n", ":3:1: unknown key 'param' (did you mean 'params'?)"),
            (HEAD + "params: {M: []}\n", "M has no values"),
            ("x: " + "[" * 9999, "nested more than 500 deep"),
            (HEAD + "params: {M: {a: 1}}\n", "a value is a number or a word"),
            ("a: \x01", "not valid YAML"),
            (rules + ' ["M >"]\n', ":4:9: the rule 'M >': "),
            (rules + ' ["open(M)"]\n', ":4:9: the rule 'open(M)': unknown"),
            (rules + " M > 0\n", ':4:8: rules is a list: write rules: ["M > 0"]'),
            (rules + " {a: M > 0}\n", ":4:8: rules is a list of expressions, each a text"),
            (rules + " [{a: M > 0}]\n", ":4:9: rules is a list of expressions, each a text"),
            (rules + "\n- ~\n", ":5:3: rules is a list of expressions, each a text"),
            (rules + "\n", "no failure"),
            ("name: g\nfile: none.mojo\nparams: {M: 1}\n", ":2:7: file: none.mojo does not exist"),
            (HEAD + "params: {M: &a [1, *a]}\n", "a list in a list, more than 32 deep"),
            *(
                (f"{HEAD}params: {none}\n", ":3:9: the key 'params' holds no parameters: nothing to tune")
                for none in ("[]", "{}", "[{}, {metadata: {a: 1}}]", "{metadata: 1}")
            ),
        ):
            self.assertIn(message, self.failure(text), text[:80])

    def test_files_that_expand_to_very_much_are_refused(self):
        bomb = HEAD + "params:\n- &a {M: &b [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n"
        for one, other in zip("bcdef", "cdefg"):
            bomb += f"- {{M: &{other} [{', '.join(['*' + one] * 10)}]}}\n"
        self.assertIn("more than 100000 values", self.failure(bomb))
        wide = "- {Z: 1" + "".join(f", P{i}: [1, 2, 3, 4, 5, 6, 7, 8]" for i in range(8)) + "}\n"
        self.assertIn("are listed one by one", self.failure(HEAD + "params:\n" + wide + wide))

    def test_garbage_is_refused_and_never_an_error_of_the_script(self):
        good = (
            HEAD
            + 'params:\n- &a {stages: [4, 2**3], $x: [0, [2, 3]], T: "[i for i in range(3)]"}\n- {<<: *a, stages: 2}\n'
            "- only: 'a \"b\" {c}'\nrules:\n- $x < stages\n"
        ).encode()
        chance = random.Random(1)
        for _ in range(400):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                at, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
                data[at : at + chance.randrange(3)] = chance.choice(
                    [
                        data[at:end],
                        bytes([chance.randrange(256)]),
                        b"*a",
                        b"[",
                        b"(",
                        b"- ",
                        b"\n",
                        b": ",
                        b"**9",
                        b"'",
                        b"{<<: *a}",
                    ]
                )
            with self.subTest(data=bytes(data)):
                self.failure(bytes(data))


def compiled_output(test, header, program, compiler="g++"):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        (path / "header.hpp").write_text(header)
        (path / "use.cpp").write_text('#include "header.hpp"\n#include <cstdio>\n' + program)
        command = [
            compiler,
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Wpedantic",
            "-Werror",
            path / "use.cpp",
            "-o",
        ]
        result = subprocess.run([*command, path / "use"], capture_output=True, text=True, check=False)
        test.assertEqual(result.stderr, "")
        return subprocess.run([path / "use"], capture_output=True, text=True, check=True).stdout


def grown(cases, limit=1.05, depth=16):
    return headers.Tree([problem for problem, _ in cases], [ratios for _, ratios in cases], limit, depth)


def sizes(m, n):
    return {"M": m, "N": n}


class Trees(unittest.TestCase):
    def test_a_tree_has_as_many_questions_as_the_limit_needs(self):
        cases = [(sizes(64, 64), [1.0, 1.04]), (sizes(4096, 64), [1.04, 1.0])]
        self.assertEqual(len(grown(cases).nodes), 1)
        exact = grown(cases, 1.0)
        # The middle of the logarithms.
        self.assertEqual(
            exact.nodes, [{"size": "M", "at_most": 512, "then": 1, "else": 2}, {"config": 0}, {"config": 1}]
        )
        self.assertEqual((exact.choose(sizes(512, 9)), exact.choose(sizes(513, 9))), (0, 1))
        self.assertEqual(len(grown(cases, 1.0, 0).nodes), 1)

    def test_no_first_question_helps_but_two_together_do_and_words_are_compared_for_equality(self):
        cross = grown(
            [(sizes(1, 1), [1.0, 2.0]), (sizes(1, 9), [2.0, 1.0]), (sizes(9, 1), [2.0, 1.0]), (sizes(9, 9), [1.0, 2.0])]
        )
        for m, n in itertools.product((1, 9), repeat=2):
            self.assertEqual(cross.choose(sizes(m, n)), m != n)
        words = grown([({"ORDER": "row"}, [1.0, 2.0]), ({"ORDER": "col"}, [2.0, 1.0])])
        self.assertEqual([words.choose({"ORDER": word}) for word in ("row", "col")], [0, 1])

    def test_an_unmeasured_configuration_is_taken_only_where_no_other_can_be(self):
        tree = grown([(sizes(64, 64), [None, 3.0]), (sizes(4096, 64), [1.0, 2.0])])
        self.assertEqual((tree.choose(sizes(64, 64)), tree.choose(sizes(4096, 64))), (1, 0))

    def test_large_whole_numbers_next_to_each_other_are_distinguished(self):
        large = 2**60 + 1
        tree = grown([(sizes(large, 1), [1.0, 2.0]), (sizes(large + 1, 1), [2.0, 1.0])])
        self.assertEqual((tree.choose(sizes(large, 1)), tree.choose(sizes(large + 1, 1))), (0, 1))

    def request(self, kind, max_configs=4):
        """Small problems want BLOCK=32, wide ones 128, the rest 64; 256 wins one case that nothing else was measured for."""
        blocks, cases = [32, 64, 128, 256][:max_configs], []
        for m, n in itertools.product((16, 64, 256, 1024, 4096, 16384), (128, 1000, 8192)):
            best = 32 if m <= 64 else 128 if n >= 8192 else 64
            times = [
                1.0 if block == best else None if block == 256 else 1.2 if block == 64 else 1.5 for block in blocks
            ]
            cases.append((m, n, best, times))
        cases.append((1, 1, 256, [None, None, None, 1.0][:max_configs]))

        def config(block):
            return {"BLOCK": block, "MODE": 'wide "x"' if block > 64 else "narrow", "a b": 0.5}

        group = {
            "kernel": "gemm",
            "arch": "sm_90",
            "configs": [config(block) for block in blocks],
            "cases": [
                {
                    "problem": sizes(m, n),
                    "device": "NVIDIA H200",
                    "best": config(best),
                    "best_ms": 1.0,
                    "times_ms": times,
                }
                for m, n, best, times in cases
            ],
        }
        other = {
            "kernel": "gemm",
            "arch": "gfx90a",
            "configs": [config(64)],
            "cases": [
                {
                    "problem": sizes(64, 64),
                    "device": "AMD MI250X",
                    "best": config(64),
                    "best_ms": 1.0,
                    "times_ms": [1.0],
                }
            ],
        }
        return {"format": kind, "version": "1", "within": 0.05, "max_depth": 16, "groups": [other, group]}

    @staticmethod
    def evaluate(tree, problem):
        """By the documented rules only."""
        node = tree["nodes"][0]
        while "config" not in node:
            value = problem[node["size"]]
            holds = value <= node["at_most"] if "at_most" in node else value == node["equals"]
            node = tree["nodes"][node["then" if holds else "else"]]
        return tree["configs"][node["config"]]

    def test_the_json_of_trees_has_the_regret_of_each_case_and_says_what_was_not_measured(self):
        warnings = []
        tree = headers.answer(self.request("tree-json"), warnings)["trees"][1]
        self.assertEqual((warnings, tree["arch"], len(tree["configs"]), tree["max_regret"]), ([], "sm_90", 4, 0))
        for case in tree["cases"]:
            self.assertEqual(self.evaluate(tree, case["problem"]), case["best"])
        small = headers.answer(self.request("tree-json", max_configs=2), warnings)["trees"][1]
        self.assertLessEqual(len(small["configs"]), 2)
        self.assertIn("raise --max-configs", warnings[-1])
        for case in small["cases"]:
            self.assertEqual(case["regret"], None if case["time_ms"] is None else case["time_ms"] / case["best_ms"] - 1)
        self.assertEqual(small["not_measured"], sum(case["time_ms"] is None for case in small["cases"]))
        self.assertEqual(headers.answer(self.request("tree-json", max_configs=2), [])["trees"][1], small)

    def test_the_header_chooses_as_the_json_does_at_the_cases_and_between_them(self):
        tree = headers.answer(self.request("tree-json"), [])["trees"][1]
        chance = random.Random(3)
        asked = [sizes(2 ** chance.randrange(16), chance.randrange(1, 20001)) for _ in range(400)]
        output = compiled_output(
            self,
            headers.answer({**self.request("tree-header"), "constraints": [], "derived": {}}, []),
            """
namespace gemm = xtune_tree::gemm;
static_assert(gemm::sm_90::select({16, 128})->BLOCK == 32);
static_assert(gemm::select("gfx90a", {1, 2})->BLOCK == 64);
static_assert(gemm::select("sm_70", {1, 2}) == nullptr);
constexpr gemm::Problem asked[] = {"""
            + ",".join(f"{{{one['M']}, {one['N']}}}" for one in asked)
            + """};
int main() {
  for (const gemm::Case& one : gemm::sm_90::cases)
    if (gemm::sm_90::select(one.problem) != &gemm::sm_90::configs[one.config]) return 1;
  for (const gemm::Problem& one : asked) std::printf("%lld\\n", gemm::sm_90::select(one)->BLOCK);
}
""",
        )
        self.assertEqual(list(map(int, output.split())), [self.evaluate(tree, one)["BLOCK"] for one in asked])


def winner(problem, config, device="NVIDIA H200", **more):
    return {
        "kernel": "moe",
        "arch": "sm_90",
        "problem": problem,
        "config": config,
        "time_ms": 1.5,
        "device": device,
        "driver": "",
        "unix_time_ms": 1,
        **more,
    }


class Tables(unittest.TestCase):
    def answer(self, winners, warnings=None, **options):
        return vllm.answer(
            {"winners": winners, "map": {}, "dtype": "", "block_shape": "", **options},
            [] if warnings is None else warnings,
        )

    def test_vllms_tables_have_its_names_and_lacks_are_named(self):
        winners = [
            winner(
                {"E": 8, "M": m, "N": 7168},
                {
                    "BLOCK_SIZE_K": 32,
                    "BLOCK_SIZE_N": 64,
                    "BM": 16 if m < 64 else 64,
                    "GROUP_SIZE_M": 1,
                    "OTHER": 1,
                    "num_stages": 3,
                    "num_warps": 4,
                    "waves_per_eu": 2,
                },
                device,
            )
            for m in (1, 1024, 64)
            for device in ("NVIDIA H100 80GB HBM3", "NVIDIA H200 NVL")
        ]
        with self.assertRaisesRegex(_text.Refused, "--map BLOCK_SIZE_M=NAME"):
            self.answer(winners)
        warnings, names = [], {"BLOCK_SIZE_M": "BM"}
        tables = self.answer(winners, warnings, map=names, dtype="fp8_w8a8", block_shape="128,128")
        self.assertEqual(
            list(tables),
            [
                f"E=8,N=7168,device_name=NVIDIA_{device},dtype=fp8_w8a8,block_shape=[128,128].json"
                for device in ("H100_80GB_HBM3", "H200")
            ],
        )
        table = next(iter(tables.values()))
        self.assertEqual(list(table), ["1", "64", "1024"])
        self.assertEqual(
            list(table["1"].items()),
            [
                ("BLOCK_SIZE_M", 16),
                ("BLOCK_SIZE_N", 64),
                ("BLOCK_SIZE_K", 32),
                ("GROUP_SIZE_M", 1),
                ("num_warps", 4),
                ("num_stages", 3),
                ("waves_per_eu", 2),
            ],
        )
        self.assertEqual(warnings, ["the parameter 'OTHER' is not in the table: vLLM does not know it"])
        for options, message in (
            ({"map": {**names, "NUM_WARPS": "w"}}, "num_warps"),
            ({"block_shape": "0,1"}, "two numbers"),
            ({"dtype": "a=b"}, "a word of vLLM"),
        ):
            with self.assertRaisesRegex(_text.Refused, message):
                self.answer(winners, **{"map": names, **options})
        with self.assertRaisesRegex(_text.Refused, "two winners belong to M = 1 of "):
            self.answer([*winners, {**winners[0], "arch": "sm_90a"}], map=names)

    def test_mistakes_in_vllms_tables_are_named(self):
        row = {"BLOCK_SIZE_M": 16, "num_warps": 4}

        def imported(table, path="t/E=8,N=7168,device_name=NVIDIA_H200.json", pairs=()):
            text = table if isinstance(table, str) else json.dumps(table)
            (spec,) = vllm.answer({"files": [{"path": path, "text": text}], "map": pairs, "stem": "moe"}, [])
            return spec

        spec = imported({"triton_version": "3.4.0", "1": row, "64": {**row, "num_warps": 8}, "128": row})
        self.assertEqual(spec["configs"], "BLOCK_SIZE_M,num_warps\n16,4\n16,8\n")
        self.assertEqual(spec["spec"].count("[[cases]]\nE = 8\nN = 7168\nM = "), 3)
        for table, message, more in (
            ({"1": row}, "keep the name that vLLM gave it", {"path": "table.json"}),
            ("{", "not JSON", {}),
            ('{"1": {"a": 1, "a": 2}}', "a name is there twice", {}),
            ({}, "no configuration", {}),
            ({"M": row}, "'M': expected a batch size", {}),
            ({"1": {"BLOCK_SIZE_M": 1.5}}, "'BLOCK_SIZE_M' is 1.5; expected a whole number", {}),
            ({"1": row, "2": {"BLOCK_SIZE_M": 16}}, "'num_warps' is in some", {}),
            ({"1": row}, "no such name", {"pairs": ["BLOCK_M=BM"]}),
            ({"1": row}, "write --map VLLM_NAME=NAME", {"pairs": ["BLOCK_SIZE_M"]}),
            ({"1": row}, "two names of the table are one", {"pairs": ["BLOCK_SIZE_M=M"]}),
        ):
            with self.subTest(message), self.assertRaisesRegex(_text.Refused, message):
                imported(table, **more)


class RecordTables(unittest.TestCase):
    def record(self, outcome, **more):
        return {
            "kernel": "k",
            "problem": {"M": 4},
            "config": {"B": 32, "ON": True},
            "outcome": outcome,
            "unix_time_ms": 1_700_000_000_500,
            **more,
        }

    def test_records_become_results_of_kernel_tuner(self):
        records = [
            self.record("ok", samples_ms=[1.0, 3.0], time_ms={"median": 2.0, "count": 2}, compile_s=0.5),
            self.record("crashed", stage="run"),
            self.record("crashed", stage="compile"),
            self.record("rejected"),
        ]
        answer = tables.answer({"format": "kernel-tuner", "records": records}, [])
        self.assertEqual(answer["schema_version"], "1.0.0")
        first, *failed = answer["results"]
        self.assertEqual(first["timestamp"], "2023-11-14T22:13:20+00:00")
        self.assertEqual(first["configuration"], {"B": 32, "ON": True})
        self.assertEqual((first["times"]["compilation_time"], first["times"]["runtimes"]), (500, [1.0, 3.0]))
        self.assertEqual((first["invalidity"], first["correctness"]), ("correct", 1))
        self.assertEqual(first["measurements"], [{"name": "time", "value": 2.0, "unit": "ms"}])
        self.assertEqual([one["invalidity"] for one in failed], ["runtime", "compile", "constraints"])
        self.assertTrue(all(one["measurements"] == [] and one["correctness"] == 0 for one in failed))
        self.assertEqual({tuple(one["objectives"]) for one in answer["results"]}, {("time",)})

    def test_results_of_kernel_tuner_have_the_objective(self):
        goals = {"energy_j": 0.5, "TFLOPS": None}
        record = self.record("ok", time_ms={"median": 2.0, "count": 1}, goals=goals)
        (result,) = tables.answer({"format": "kernel-tuner", "records": [record]}, [])["results"]
        self.assertEqual(result["objectives"], ["energy_j", "TFLOPS"])
        self.assertEqual(
            [(one["name"], one["value"]) for one in result["measurements"]], [("time", 2.0), ("energy_j", 0.5)]
        )
        # Without a spec, it is that of the newest finals.
        passed = {"time_ms": {"median": 2.0, "count": 1}, "reported": {"rate": [3.0, 5.0]}}
        finals = {"finals": "f1", "finals_by": "median least energy_j * max(1, 2), most rate (rate 3f2a)"}
        records = [self.record("ok", **passed), self.record("ok", **passed, **finals), self.record("crashed")]
        first, _, failed = tables.answer({"format": "kernel-tuner", "records": records}, [])["results"]
        self.assertEqual(first["objectives"], ["energy_j * max(1, 2)", "rate"])
        self.assertEqual([(one["name"], one["value"]) for one in first["measurements"]], [("time", 2.0), ("rate", 4.0)])
        self.assertEqual((failed["objectives"], failed["measurements"]), (first["objectives"], []))
        by_time = {**finals, "finals_by": "min time_ms"}
        (result,) = tables.answer({"format": "kernel-tuner", "records": [self.record("ok", **passed, **by_time)]}, [])[
            "results"
        ]
        self.assertEqual(result["objectives"], ["time"])

    def test_records_become_lines_of_kbench(self):
        record = self.record(
            "ok", time_ms={"median": 2.0, "count": 3}, reported={"DataMovement": [1.0, 4.0, 2.0], "other": []}
        )
        self.assertEqual(
            tables.answer({"format": "kbench", "records": [record]}, []),
            [
                {
                    "name": "k",
                    "met (ms)": 2.0,
                    "iters": 3,
                    "DataMovement (GB/s)": 2.0,
                    "other": None,
                    "spec": "k/M=4/B=32/ON=true",
                }
            ],
        )


class Headers(unittest.TestCase):
    def test_the_header_is_self_contained_compiles_without_a_warning_and_chooses_at_compile_time(self):
        winners = [
            winner(
                {"M": m},
                {"BLOCK": 128 if m == 1024 else 32, "ORDER": 'row "?\\?=\u00e4', "new": 0.5},
                kernel="gemm",
                arch=arch,
                driver="550 \\",
            )
            for arch in ("gfx90a", "sm_90")
            for m in (1024, 4096)
        ]
        odd = winner({}, {"BLOCK": 32}, kernel="9 odd-name*/\\")
        warnings = []
        header = headers.answer(
            {"format": "header", "version": "1", "winners": [odd, *winners], "constraints": [], "derived": {}}, warnings
        )
        self.assertEqual(warnings, [])
        program = r"""
namespace gemm = xtune_best::gemm;
static_assert(gemm::best("sm_90", {1024})->BLOCK == 128);
static_assert(gemm::best("sm_90", {1100})->BLOCK == 128);
static_assert(gemm::best("gfx90a", {100000}, "NVIDIA H200")->BLOCK == 32);
static_assert(gemm::best("sm_90", {1024})->new_ == 0.5);
static_assert(gemm::best("sm_90", {4096})->ORDER == "row \"?\\?=\303\244");
static_assert(gemm::best("sm_70", {1024}) == nullptr && gemm::default_config.BLOCK == 128);
static_assert(xtune_best::p9_odd_name_::best("sm_90", {})->BLOCK == 32);
int main() {}
"""
        for compiler in filter(shutil.which, ("g++", "clang++")):
            self.assertEqual(compiled_output(self, header, program, compiler), "")
        other = winner({"M": 1, "N": 2}, {"BLOCK": 1}, kernel="gemm")
        headers.answer({"format": "header", "version": "1", "winners": [*winners, other]}, warnings)
        self.assertEqual(
            warnings[0], "gemm: 1 winners skipped: their parameters or dimensions differ from the newest's"
        )
        self.assertIn("gemm: only problems that were measured have an answer in the header", warnings[1])

    def test_a_header_answers_with_what_the_constraints_allow_or_what_was_measured(self):
        winners = [
            winner({"N": n}, {"T": 8}, kernel="k", others=[{"T": 4}, {"T": 2}, {"T": 1}] if n == 64 else [{"T": 4}])
            for n in (8, 64)
        ]
        known = {"constraints": ["per == 0"], "derived": {"per": "N % T"}}
        device = {"constraints": ["N % T == 0", "N * T < device.memory_bytes"], "derived": {}}
        request = {"format": "header", "version": "1", "winners": winners}
        with_spec = """
static_assert(k::best("sm_90", {8})->T == 8 && k::best("sm_90", {16})->T == 8 && k::best("sm_90", {12})->T == 4);
static_assert(k::best("sm_90", {9})->T == 1 && k::allowed({1}, {9}) && !k::allowed({8}, {9}) && !k::allowed({0}, {9}));
int main() {}
"""
        without = """
static_assert(k::best("sm_90", {8})->T == 8 && k::best("sm_90", {64})->T == 8 && !k::best("sm_90", {16}));
int main() {}
"""
        for more, program, words in (
            (known, with_spec, []),
            ({}, without, ["its spec"]),
            (device, without, ["device.memory_bytes, a fact of the device"]),
        ):
            warnings = []
            header = headers.answer({**request, **more}, warnings)
            self.assertEqual(len(warnings), len(words))
            self.assertTrue(all(word in warning and word in header for word, warning in zip(words, warnings)))
            compiled_output(self, header, "namespace k = xtune_best::k;" + program)
        group = {"kernel": "k", "arch": "sm_90", "configs": [{"T": 8}, {"T": 1}]}
        group["cases"] = [
            {"problem": {"N": n}, "device": "D", "best": {"T": t}, "best_ms": 1.0, "times_ms": times}
            for n, t, times in ((8, 8, [1.0, 2.0]), (7, 1, [None, 1.0]))
        ]
        trees = {"format": "tree-header", "version": "1", "groups": [group], "within": 0.05, "max_depth": 4}
        compiled_output(
            self,
            headers.answer({**trees, **known}, []),
            """namespace k = xtune_tree::k;
static_assert(k::select("sm_90", {8})->T == 8 && k::select("sm_90", {9})->T == 1 && k::select("sm_90", {7})->T == 1);
int main() {}
""",
        )
        compiled_output(
            self,
            headers.answer(trees, []),
            """namespace k = xtune_tree::k;
static_assert(k::select("sm_90", {8})->T == 8 && !k::select("sm_90", {9}) && k::select("sm_90", {7})->T == 1);
int main() {}
""",
        )

    def test_constraints_on_parameters_only_hold_for_configurations_that_were_not_measured_too(self):
        known = {"constraints": ["not P in ['a', 'ab']", "wide"], "derived": {"wide": "T >= 4"}}
        program = """
static_assert(k::allowed({"1", 4}, {8}) && k::allowed({"A", 8}, {8}));
static_assert(!k::allowed({"a", 4}, {8}) && !k::allowed({"ab", 8}, {64}) && !k::allowed({"1", 2}, {8}));
int main() {}
"""
        config = {"P": "1", "T": 4}
        group = {"kernel": "k", "arch": "sm_90", "configs": [config]}
        case = {"problem": {"N": 8}, "device": "D", "best": config, "best_ms": 1.0, "times_ms": [1.0]}
        trees = {"format": "tree-header", "groups": [{**group, "cases": [case]}], "within": 0.05, "max_depth": 4}
        winners = {"format": "header", "winners": [winner({"N": 8}, config, kernel="k")]}
        for request, namespace in ((trees, "xtune_tree"), (winners, "xtune_best")):
            header = headers.answer({**request, **known, "version": "1"}, warnings := [])
            self.assertEqual(warnings, [])
            compiled_output(self, header, f"namespace k = {namespace}::k;{program}")
            unknown = {"constraints": ["P in device.name"], "derived": {}}
            header = headers.answer({**request, **unknown, "version": "1"}, warnings)
            self.assertIn("unknown, and taken as no", header)
            self.assertEqual(len(warnings), 1)

    def test_constraints_mean_in_cpp_what_they_mean_in_specs(self):
        texts = """N % A == 0 | N // A * A + N % A == N | -N // A < -1 | N / A >= 2.5 | A ** 2 <= N and not N == 7
            2 ** A > N or A in (1, 3) | ceildiv(N, A) == 3 | max(A, N, 3) - min(A, 2) > 4 | abs(A - N) < 3
            1 < A < N != 8 | (A if N > 4 else 2) == 3 | N // (A - 1) > 2 | log2(A) == 1 | pow2(N) == 8
            A not in [1, 2] and N | int(N / A) == 2 | float(N) * 0.5 > A | F * N > 3 | N % F < 0.3 | N // F >= 6.0
            W == 'row' or N == A | W != "row" | W in ("col", "x") | A & 1 | (A | 4) == N | A ^ N == 1 | A << 2 > N
            N >> A == 1 | ~A == -2 | A * 9223372036854775807 > 0 or True | B and N > A | B + N == 8 | -A - -N > 1
            N % -A == 0 | (-7) ** A < 0 or N == 1""".replace(
            "\n", " | "
        ).replace(
            " | 4)", " @ 4)"
        )
        texts = [text.strip().replace("@", "|") for text in texts.split(" | ")]
        functions = {
            "ceildiv": lambda a, b: -(-a // b),
            "pow2": lambda a: 1 << max(a - 1, 0).bit_length(),
            "log2": lambda a: {2**i: i for i in range(64)}[a],
            "__builtins__": {"max": max, "min": min, "abs": abs, "int": int, "float": float},
        }
        configs = [
            {"A": a, "F": f, "W": w, "B": b}
            for a in (1, 2, 3)
            for f, w, b in ((0.25, "row", True), (1.5, "col", False))
        ]
        problems = [{"N": n} for n in (1, 4, 7, 8, 9)]

        def expected(text, names):
            if "9223372036854775807" in text and names["A"] > 1:
                return False  # beyond 64 bits a header has no value
            try:
                return bool(eval(text, dict(functions), names))
            except (ArithmeticError, KeyError):
                return False

        winners = [winner(problems[0], config, kernel=f"k{i}") for i in range(len(texts)) for config in configs]
        header = "".join(
            headers.answer(
                {
                    "format": "header",
                    "version": "1",
                    "winners": [one for one in winners if one["kernel"] == f"k{i}"],
                    "constraints": [text, "N < 100"],
                    "derived": {},
                },
                warnings := [],
            )
            + "".join(f"\n#error {text} {warning}" for warning in warnings)
            for i, text in enumerate(texts)
        )
        calls = "".join(
            f"  for (const auto& choice : xtune_best::k{i}::choices)\n"
            f'    for (long long n : {{1LL, 4LL, 7LL, 8LL, 9LL}}) std::printf("%d", xtune_best::k{i}::allowed(choice, {{n}}));\n'
            '  std::printf("\\n");\n'
            for i in range(len(texts))
        )
        lines = compiled_output(self, header, f"int main() {{\n{calls}}}\n").split()
        for text, line in zip(texts, lines):
            own = "".join(str(int(expected(text, {**config, **problem}))) for config in configs for problem in problems)
            self.assertEqual(line, own, text)

    def test_names_and_values_become_those_of_cpp(self):
        used = set()
        names = ["BLOCK", "9x-y", "int", "__a__b", "BLOCK", "\u00e9", "config", ""]
        self.assertEqual(
            [headers.identifier(name, used) for name in names],
            ["BLOCK", "p9x_y", "int_", "a_b", "BLOCK_2", "p", "config_", "p_2"],
        )
        self.assertEqual(headers.string_literal('a"\\?\n\u00e9'), r'"a\"\\\?\012\303\251"')
        self.assertEqual(headers.literal(-(2**63), 1), "-9223372036854775807LL - 1")
        self.assertEqual(
            [headers.literal(value, 2) for value in (True, 3, 0.1, math.inf)],
            ["1.0", "3.0", "0.1", "std::numeric_limits<double>::infinity()"],
        )

    def test_floats_are_written_as_the_program_writes_them(self):
        for text in (
            "0.5",
            "1e+05",
            "150000.0",
            "1e-04",
            "0.001",
            "1.2345e-06",
            "1e+22",
            "5e-324",
            "-0.0",
            "1234567890123456768.0",
        ):
            self.assertEqual(_text.float_text(float(text)), text)


if __name__ == "__main__":
    unittest.main()
