#!/usr/bin/env python3
"""The documentation as a site (make docs): every page is in it, no link of it is broken, and its search knows their words.

test_site.py XTUNE
"""
import importlib
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIANS = pathlib.Path("/usr/share/mkdocs/themes/material")  # not among Python's packages
INSTALLED = (
    shutil.which("mkdocs")
    and (DEBIANS.exists() or importlib.util.find_spec("material"))
    and pathlib.Path("/usr/lib/python3/dist-packages/mkdocstrings_handlers/python").exists()
)


class Site(unittest.TestCase):
    xtune = None

    def test_it_shows_every_page(self):
        named = set(re.findall(r"([a-z-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
        self.assertEqual(named, {page.name for page in (ROOT / "docs").glob("*.md")})

    def test_its_prose_is_short_enough_to_be_kept_true(self):
        """Words outside code, tables and headings, of the README, too."""
        pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        text = "\n".join(re.sub(r"^```.*?^```|<!--.*?-->", "", page.read_text(), flags=re.S | re.M) for page in pages)
        words = sum(len(line.split()) for line in text.splitlines() if not line.startswith(("|", "#")))
        self.assertLess(words, 21_000)

    @unittest.skipUnless(INSTALLED and shutil.which("node"), "MkDocs or Node.js is not installed [apt: nodejs]")
    def test_its_search_finds_pasted_messages_commands_and_keys(self):
        sys.path.insert(0, str(ROOT / "tools/site"))
        pasted = [one for _, own in importlib.import_module("messages").messages() for one in own][::25]
        wanted = [("xtune: k.toml:13:1: " + one.replace("…", "gemm"), "messages/") for one in pasted]
        words = {"min_rep": "spec-", "--arch-component": "cluster/", "xtune audit": "audit/", "store push": "store/"}
        words |= {
            "wrong_result": "",
            "XTUNE_TRUST": "store/",
            "--lock-clocks": "device-timing/",
            "xtune::load": "dispatch/",
        }
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["mkdocs", "build", "--quiet", "--site-dir", folder], cwd=ROOT, check=True)
            command = ["node", str(ROOT / "tests/docs/search.js"), folder]
            queries = json.dumps([query for query, _ in wanted] + list(words))
            done = subprocess.run(command, input=queries, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        hits = [page in found[query][:3] for query, page in wanted]
        self.assertGreater(sum(hits) / len(hits), 0.9, [query for query, hit in zip(wanted, hits) if not hit])
        for query, start in words.items():
            self.assertTrue(any(page.startswith(start) for page in found[query][:3]), (query, found[query][:3]))

    @unittest.skipUnless(INSTALLED, "MkDocs is not installed whole [apt: mkdocs-material mkdocstrings-python-handlers]")
    def test_it_is_built_without_a_warning_and_can_be_searched(self):
        with tempfile.TemporaryDirectory() as folder:
            command = ["mkdocs", "build", "--strict", "--site-dir", folder]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            index = json.loads((pathlib.Path(folder) / "search/search_index.json").read_text())
        text = " ".join(each["text"] for each in index["docs"] if not each["location"].startswith("spec-keys"))
        keys = re.findall(r"`(\w+)`", (ROOT / "docs/spec-keys.md").read_text())
        self.assertGreater(len(keys), 100)
        printed = subprocess.run([self.xtune, "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z]+) ", printed.split("Commands:")[1].split("Options:")[0], re.MULTILINE)
        self.assertGreater(len(commands), 20)
        # Beside keys, outcomes and commands: a variable, words of an error, and codes that scripts see.
        words = ["XTUNE_CACHE_DIR", "never written", "the device or backend is unavailable"]
        words += ["no stored problem has such a size", "is an array on a GPU: pass a copy on the host"]  # C++, Python
        outcomes = re.findall(r"^  (\w+), +///<", (ROOT / "include/xtune/outcome.hpp").read_text(), re.MULTILINE)
        self.assertEqual(len(outcomes), 8)
        words += [*keys, *outcomes, *(f"xtune {command}" for command in commands)]
        self.assertEqual([word for word in words if word not in text], [])


if __name__ == "__main__":
    Site.xtune = sys.argv.pop(1)
    unittest.main()
