#!/usr/bin/env python3
"""The rules find what they are for, and nothing else."""
import pathlib
import shutil
import tempfile
import unittest

import tidy

LAYERS = {"base": [], "core/space": [], "core/run": ["core/space"]}


class Rules(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self, check, **options):
        return list(check(self.root, **options))

    def test_includes_against_the_layers(self):
        self.write("src/core/run/a.hpp", '#include "core/space/b.hpp"\n#include "base/c.hpp"\n#include "xtune/d.hpp"\n')
        self.assertEqual(self.found(tidy.check_layers, layers=LAYERS), [])
        self.write("src/core/space/b.hpp", '\n#include "core/run/a.hpp"\n')
        self.assertEqual(len(self.found(tidy.check_layers, layers=LAYERS)), 1)
        self.assertIn(
            "src/core/space/b.hpp:2: src/core/space must not include src/core/run",
            self.found(tidy.check_layers, layers=LAYERS)[0],
        )

    def test_a_folder_without_a_line_in_the_table(self):
        self.write("src/extra/a.cpp", "")
        self.assertIn("src/extra has no line", self.found(tidy.check_layers, layers=LAYERS)[0])

    def test_a_table_whose_order_does_not_hold(self):
        self.assertIn(
            "base stands above core/run",
            self.found(tidy.check_layers, layers={"base": ["core/run"], "core/run": []})[0],
        )

    def test_a_namespace_for_each_folder(self):
        self.write(
            "src/core/run/a.hpp",
            "namespace xtune::store {\nclass Store;  // there\n}  // namespace xtune::store\n\n"
            "namespace xtune::run {\nvoid f();\n}  // namespace xtune::run\n",
        )
        self.write(
            "src/backends/host/b.cpp", "namespace xtune::host::detail {\nint a;\n}  // namespace xtune::host::detail\n"
        )
        self.write("src/api/c.cpp", "namespace xtune {\nint a;\n}  // namespace xtune\n")
        self.assertEqual(self.found(tidy.check_namespaces), [])
        self.write("src/base/d.cpp", "\nnamespace xtune {\nint a;\n}  // namespace xtune\n")
        self.write("src/report/e.cpp", "namespace xtune::run {\nclass A;\nvoid g(A);\n}  // namespace xtune::run\n")
        self.assertEqual(
            self.found(tidy.check_namespaces),
            [
                "src/base/d.cpp:2: namespace xtune holds more than forward declarations: this is xtune::base",
                "src/report/e.cpp:1: namespace xtune::run holds more than forward declarations: this is "
                "xtune::report",
            ],
        )

    def test_budgets_of_lines(self):
        self.write("src/base/a.cpp", "\n" * 3)
        self.write("src/base/hash/b.cpp", "\n" * 5)
        self.assertEqual(self.found(tidy.check_budgets, budgets={"src/base": 3, "src/base/hash": 5}), [])
        self.assertIn(
            "src/base has 8 lines, 7 are its budget", self.found(tidy.check_budgets, budgets={"src/base": 7})[0]
        )
        self.assertIn(
            "8 lines are in directories without a budget", self.found(tidy.check_budgets, budgets={"src/api": 1})[0]
        )

    def test_include_cycles(self):
        self.write("src/base/a.hpp", '#include "base/b.hpp"\n')
        self.write("src/base/b.hpp", '#include "base/c.hpp"\n')
        self.write("src/base/c.hpp", "")
        self.assertEqual(self.found(tidy.check_cycles), [])
        self.write("src/base/c.hpp", '#include "base/a.hpp"\n')
        self.assertEqual(len(self.found(tidy.check_cycles)), 1)
        self.assertIn(
            "src/base/a.hpp -> src/base/b.hpp -> src/base/c.hpp -> src/base/a.hpp", self.found(tidy.check_cycles)[0]
        )

    def test_type_names_in_two_files(self):
        self.write("src/a.hpp", "namespace f {\nstruct Damage {\n};\nstruct Forward;\nenum class Kind { a };\n}\n")
        self.write("src/b.hpp", "namespace g {\nstruct Damage {\n};\n}\nnamespace f { struct Forward; }\n")
        self.write("src/c.cpp", "namespace {\nclass Helper {};\n}\nvoid f() { struct Damage {}; }\n")
        self.write("src/d.cpp", "namespace {\nclass Helper {};\n}\n")
        self.assertEqual(self.found(tidy.check_type_names), [])
        self.write("src/b.hpp", "namespace f {\nclass Damage final : public Other<int> {\n};\n}\n")
        self.assertEqual(
            self.found(tidy.check_type_names),
            ["src/b.hpp:2: f::Damage is also defined in src/a.hpp: rename one of them"],
        )
        self.write("src/b.hpp", "class Helper {};\n")
        self.assertEqual(len(self.found(tidy.check_type_names)), 2)

    def test_long_functions(self):
        body = "  f();\n" * 68
        self.write("src/a.cpp", f"namespace n {{\nint g(int a,\n      int b) {{\n{body[7:]}}}\n}}\n")
        self.assertEqual(self.found(tidy.check_sizes), [])
        for head in (
            "void f() {",
            "A::A() : a_(1) {",
            "A::A() : a_{1} {",
            "auto f() -> B<int> {",
            "bool A::f() const noexcept {",
        ):
            self.write("src/a.cpp", f"int x;\n{head}\n{body}  f();\n}}\n")
            self.assertEqual(
                self.found(tidy.check_sizes), ["src/a.cpp:2: a function of 71 lines, 70 at most: split it"], head
            )
        self.write("src/a.cpp", f"namespace n {{\n{body}{body}}}\n")
        self.assertEqual(self.found(tidy.check_sizes), [])

    def test_large_classes(self):
        methods = "".join(f"  std::vector<int> f{i}(const T& a = {{}}) const;\n" for i in range(25))
        members = "".join(f"  std::function<void(int)> m{i}_ = nullptr;\n" for i in range(15))
        rest = (
            "  A();\n  ~A();\n  A& operator=(const A&) = delete;\n  static constexpr int limit = 3;\n"
            "  struct Inner {\n    int a, b, c;\n  };\n  using T = int;\n  friend class B;\n"
        )
        text = f"class A {{\n public:\n{rest}{methods} private:\n{members}}};\n"
        self.write("src/a.hpp", text)
        self.assertEqual(self.found(tidy.check_sizes), [])
        self.write("src/a.hpp", text.replace(" private:\n", "  int inline_body() { return a < 3; }\n private:\n"))
        self.assertIn("A has 26 methods and 15 members", self.found(tidy.check_sizes)[0])
        self.write("src/a.hpp", text.replace(" private:\n", " private:\n  int here_ = 0, there_;\n"))
        self.assertIn("A has 25 methods and 17 members", self.found(tidy.check_sizes)[0])

    def test_plain_data_may_have_many_members(self):
        members = "".join(f"  int m{i} = {i};\n" for i in range(40))
        self.write("src/a.hpp", f"struct A {{\n{members}  bool ok() const;\n}};\n")
        self.assertEqual(self.found(tidy.check_sizes), [])

    def test_headers_open_with_a_sentence(self):
        self.write("src/a.hpp", "// What it is for,\n// in a sentence.\n#pragma once\n")
        self.assertEqual(self.found(tidy.check_headers), [])
        self.write("src/a.hpp", "#pragma once\n// Later.\n")
        self.assertEqual(len(self.found(tidy.check_headers)), 1)

    def test_names_that_another_release_declares_elsewhere(self):
        self.write("src/core/b.cpp", '#include <fmt/format.h>\n#include <fmt/ranges.h>\nauto a = fmt::join(x, ",");\n')
        self.assertEqual(self.found(tidy.check_moved_names), [])
        self.write("src/core/b.cpp", '#include <fmt/format.h>\nauto a = fmt::join(x, ",");\n')
        self.assertEqual(len(self.found(tidy.check_moved_names)), 1)

    def test_markdown(self):
        self.write("docs/b.md", "# A heading, `with` marks\n")
        self.write(
            "docs/a.md",
            "[b](b.md#a-heading-with-marks) [c](https://x.org/nothing)\n\n"
            "| " + "wide " * 40 + "|\n\n```\n" + "wide " * 40 + "\n[d](d.md)\n```\n`[e](e.md)`\n",
        )
        self.assertEqual(self.found(tidy.check_markdown), [])
        self.write("docs/a.md", "word " * 30 + "\n[c](c.md)\n[b](b.md#other)\n[r](../README.md)\n")
        self.write("README.md", "[a](docs/a.md)\n")
        self.assertEqual(
            [line.split(": ")[0] for line in self.found(tidy.check_markdown)],
            ["docs/a.md:1", "docs/a.md:2", "docs/a.md:3", "docs/a.md:4"],
        )

    def test_words_that_are_not_plain_english(self):
        self.write(
            "src/base/a.cpp",
            '#include "base/nobody alone here.hpp"\nconst char* a = "alone";\n'
            'f("there is no file", "is no longer valid", "$folder of it");\n',
        )
        self.write("docs/a.md", "```\nit tells nobody\n```\nRun `it alone` here.\n")
        self.assertEqual(self.found(tidy.check_words), [])
        self.write("src/base/b.cpp", '\nfail("\\"" + name + "\\" is no file here");\n')
        self.write("docs/b.md", "It tells whoever asks.\n")
        self.assertEqual(
            [one.split(" is not plain")[0] for one in self.found(tidy.check_words)],
            ["src/base/b.cpp:2: 'is no'", "docs/b.md:1: 'tells'", "docs/b.md:1: 'whoever'"],
        )

    def test_words_of_comments_that_are_not_plain_english(self):
        names = "// `folder` and <folder>\n/// folder: where it starts. name, folder: two of them\n"
        self.write("src/base/a.hpp", names + 'int a = 1\'000;  ///< a directory\nconst char* b = "//alone";\n')
        self.write("tests/a_test.cpp", 'f("it tells nobody");\n')
        self.assertEqual(self.found(tidy.check_words), [])
        self.write("include/b.hpp", "/// The folder of a.\n")
        self.write("src/base/b.cpp", "f('\"', 1'000);  // is no file\n")
        self.write("tests/b_test.cpp", '\nf("x // y");  // alone\n')
        self.assertEqual(
            [one.split(" is not plain")[0] for one in self.found(tidy.check_words)],
            ["src/base/b.cpp:1: 'is no'", "include/b.hpp:1: 'folder'", "tests/b_test.cpp:2: 'alone'"],
        )


if __name__ == "__main__":
    unittest.main()
