# SPDX-License-Identifier: Apache-2.0
"""The package's Python files are Python 3.9, which nothing else here runs."""
import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "python").rglob("*.py")) + sorted((ROOT / "python").rglob("*.pyi"))
# Names that came after 3.9, of modules that the package imports.
LATER = {
    "typing": {
        "ParamSpec",
        "Concatenate",
        "TypeAlias",
        "TypeGuard",
        "Self",
        "Never",
        "LiteralString",
        "Unpack",
        "TypeVarTuple",
        "Required",
        "NotRequired",
        "assert_never",
        "override",
        "reveal_type",
    },
    "itertools": {"pairwise", "batched"},
    "contextlib": {"aclosing", "chdir"},
    "inspect": {"get_annotations"},
    "types": {"NoneType", "EllipsisType", "UnionType"},
    "dataclasses": {"KW_ONLY"},
    "enum": {"StrEnum"},
    "functools": set(),
    "hashlib": {"file_digest"},
    "math": {"cbrt", "exp2", "sumprod"},
}


class Sources(unittest.TestCase):
    def test_parse_as_python_39(self):
        self.assertGreater(len(SOURCES), 12)
        for path in SOURCES:
            with self.subTest(path=path.name):
                ast.parse(path.read_text(), feature_version=(3, 9))

    def test_use_nothing_later(self):
        for path in SOURCES:
            for node in ast.walk(ast.parse(path.read_text())):
                with self.subTest(path=path.name, line=getattr(node, "lineno", 0)):
                    if isinstance(node, ast.ImportFrom):
                        self.assertFalse({each.name for each in node.names} & LATER.get(node.module, set()))
                        self.assertNotIn(node.module, ("tomllib",))
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                        self.assertNotIn(node.attr, LATER.get(node.value.id, set()))
                    if isinstance(node, ast.keyword):  # of zip, of dataclass, of bisect
                        self.assertNotIn(node.arg, ("strict", "slots", "kw_only"))
                    # int | None is evaluated at run time; a set's union is not of two names.
                    if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
                        self.assertFalse(
                            [
                                each
                                for each in ast.walk(node.annotation)
                                if isinstance(each, ast.BinOp) and isinstance(each.op, ast.BitOr)
                            ]
                        )

    def test_the_project_says_so(self):
        text = (ROOT / "pyproject.toml").read_text()
        self.assertEqual(re.search(r'^requires-python = "(.*)"', text, re.M).group(1), ">=3.9")


if __name__ == "__main__":
    unittest.main()
