#!/usr/bin/env python3
"""The files of a public project (licence, citation, workflows), the Spack recipe against CMake's options and dependencies,
what `cmake --install` copies, and the modulefile under Lmod where it is installed.

  tests/packaging/packaging.py --build build/dev

Needs Python 3.8. What is not installed (PyYAML, pyflakes, Lmod) is skipped, with a line that says so.
"""

import argparse
import contextlib
import fnmatch
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import unittest.mock
import zipfile

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/spack/packages/xtune/package.py"
LMOD = next((path for path in sorted(pathlib.Path("/usr/share/lmod").glob("*/init/bash"))), None)
BUILD = pathlib.Path()
VERSION = re.search(r'#define XTUNE_VERSION "([\d.]+)"', (ROOT / "include/xtune/version.hpp").read_text()).group(1)
COMMON_LICENSE = pathlib.Path("/usr/share/common-licenses/Apache-2.0")
SPDX = "SPDX-License-Identifier: Apache-2.0"

# The packages that cmake/install-deps installs on Debian, and their names in Spack. Spack provides the compiler.
IN_SPACK = {
    "g++": "cxx",
    "cmake": "cmake",
    "ninja-build": "ninja",
    "nlohmann-json3-dev": "nlohmann-json",
    "libcli11-dev": "cli11",
    "libtomlplusplus-dev": "tomlplusplus",
    "libfmt-dev": "fmt",
    "libuv1-dev": "libuv",
    "libcrypto++-dev": "cryptopp",
    "zlib1g-dev": "zlib-api",
    "libsqlite3-dev": "sqlite",
    "libboost-context-dev": "boost",
    "libeigen3-dev": "eigen",
    "python3-yaml": "py-pyyaml",
    "libtrilinos-kokkos-dev": "kokkos",
    "libre2-dev": "re2",
    "doctest-dev": "doctest",
    "python3": "python",
}


class StandIn:
    """A package of Spack's, as far as the recipe asks: directives that note what they are told."""

    variants = {}

    def __init__(self, chosen, run_tests=False):
        self.chosen, self.run_tests = chosen, run_tests
        self.spec = types.SimpleNamespace(satisfies=lambda text: chosen[text[1:]] == (text[0] == "+"))

    @staticmethod
    def define(name, value):
        value = {True: "ON", False: "OFF"}.get(value, value)
        return f"-D{name}={value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.chosen[variant])


def load_recipe(before_1_0):
    """The recipe's module, with the directives that it called."""
    told = []

    def directive(name):
        return lambda *positional, **named: told.append((name, positional, named))

    package = types.ModuleType("spack.package")
    for name in ("version", "license", "variant", "depends_on", "extends", "conflicts", "generator"):
        setattr(package, name, directive(name))
    package.run_after = lambda *_, **__: lambda method: method
    stand_ins = {"spack": types.ModuleType("spack"), "spack.package": package}
    if before_1_0:
        package.CMakePackage = StandIn
    else:
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = StandIn
        for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            stand_ins[name] = types.ModuleType(name)
        stand_ins[cmake.__name__] = cmake
    sys.modules.update(stand_ins)
    try:
        spec = importlib.util.spec_from_file_location("recipe", RECIPE)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name in stand_ins:
            del sys.modules[name]
    return module, told


def text_of(name):
    return (ROOT / name).read_text()


def release_heading():
    """Version and date of the newest release in the changelog."""
    return re.search(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", text_of("CHANGELOG.md"), re.MULTILINE).groups()


class Versions(unittest.TestCase):
    def test_cmake_takes_the_version_from_the_headers(self):
        self.assertRegex(text_of("CMakeLists.txt"), r"project\(xtune VERSION \$\{version_number\} ")
        cache = (BUILD / "CMakeCache.txt").read_text()
        self.assertIn(f"CMAKE_PROJECT_VERSION:STATIC={VERSION}\n", cache)

    def test_the_changelog_the_citation_and_spack_name_the_same_release(self):
        version, date = release_heading()
        self.assertEqual(version, VERSION)
        citation = text_of("CITATION.cff")
        self.assertRegex(citation, rf"(?m)^version: {re.escape(VERSION)}$")
        self.assertRegex(citation, rf"(?m)^date-released: {date}$")
        _, told = load_recipe(False)
        versions = {what[0]: named for name, what, named in told if name == "version"}
        self.assertEqual(set(versions), {"main", VERSION})
        self.assertEqual(versions[VERSION], {"tag": f"v{VERSION}"})

    def test_packages_carry_it_and_their_document_names_them(self):
        document = text_of("packaging/README.md")
        self.assertIn(f"`xtune_{VERSION}-1_amd64.deb`", document)
        library = f"libxtune{VERSION.rsplit('.', 1)[0]}"
        self.assertIn(f"\nPackage: {library}\n", text_of("packaging/debian/control"))
        self.assertTrue((ROOT / f"packaging/debian/{library}.install").exists())
        self.assertIn(f"`xtune-{VERSION}-linux-x86_64.tar.gz`", document)
        self.assertIn(f"the tag v{VERSION}", document)

    def test_codemeta_names_it(self):
        self.assertEqual(json.loads(text_of("codemeta.json"))["version"], VERSION)
        self.assertEqual(json.loads(text_of("codemeta.json"))["dateModified"], release_heading()[1])
        self.assertTrue(json.loads(text_of(".zenodo.json"))["title"])

    def test_the_security_policy_supports_this_version(self):
        minor = VERSION.rsplit(".", 1)[0]
        self.assertRegex(text_of("SECURITY.md"), rf"(?m)^\| {re.escape(minor)}\.x \| yes \|$")

    def test_the_changelog_keeps_its_order(self):
        headings = re.findall(r"^##+ (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
        self.assertEqual(headings[0], "Unreleased")
        order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
        section = []
        for heading in headings:
            if heading in order:
                section.append(order.index(heading))
                self.assertEqual(section, sorted(set(section)), heading)
            else:
                self.assertRegex(heading, r"^(Unreleased|\d+\.\d+\.\d+( - \d{4}-\d\d-\d\d)?)$")
                section = []


class Releasing(unittest.TestCase):
    """tools/release on a copy of the files that state the version."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "sources"
        for name in ["include/xtune/version.hpp", "packaging", "tools/release", "cmake/XtuneInstall.cmake", "docs"]:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, self.root / name)
        for name in ["CHANGELOG.md", "CITATION.cff", "README.md", "codemeta.json", "SECURITY.md", ".gitignore"]:
            shutil.copy(ROOT / name, self.root)
        changelog = self.root / "CHANGELOG.md"  # after a release nothing is new yet
        changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- A change.\n", 1))

    def release(self, *words):
        command = [sys.executable, str(self.root / "tools/release"), "--only", "source", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder.name)

    def git(self, *words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self):
        self.git("init")
        self.git("add", "--all")
        self.git("commit", "-m", "all")

    def test_it_sets_the_version_everywhere_and_says_what_to_tag(self):
        self.commit()
        done = self.release("9.8.7", "--date", "2031-02-03")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("git tag -s v9.8.7", done.stdout)
        texts = {
            path: path.read_text()
            for path in self.root.rglob("*")
            if path.is_file()
            and path.suffix not in (".gz", ".pyc")
            and ".git/" not in str(path)
            and "build/" not in str(path)
        }
        self.assertIn("## Unreleased\n\n## 9.8.7 - 2031-02-03\n\n- A change.\n", texts[self.root / "CHANGELOG.md"])
        self.assertIn('XTUNE_VERSION "9.8.7"', texts[self.root / "include/xtune/version.hpp"])
        self.assertTrue((self.root / "packaging/debian/libxtune9.8.install").exists())
        del texts[self.root / "CHANGELOG.md"]  # it also has the releases before
        series = VERSION.rsplit(".", 1)[0]
        stated = re.compile(rf"{re.escape(VERSION)}|libxtune(\.so\.)?{re.escape(series)}")
        self.assertEqual([str(path) for path, text in texts.items() if stated.search(text)], [])
        self.assertIn(f"\n| {series}.x and earlier | no: upgrade to 9.8 |\n", texts[self.root / "SECURITY.md"])
        packages = self.root / "build/packages"
        self.assertIn("xtune-9.8.7.tar.gz", (packages / "SHA256SUMS").read_text())
        bill = json.loads((packages / "xtune-9.8.7.cdx.json").read_text())
        self.assertEqual((bill["bomFormat"], bill["metadata"]["component"]["version"]), ("CycloneDX", "9.8.7"))
        self.assertEqual([each for each in bill["components"] if "+" in each["purl"]], [])  # it would be a space
        if shutil.which("dpkg-query"):
            self.assertRegex(" ".join(each["name"] for each in bill["components"]), r"libstdc\+\+-\d+-dev")
        # The tree has changed: a second release is refused, and nothing is lost.
        self.assertEqual(self.release("9.8.8").returncode, 2)
        self.assertIn("the working tree has changes", self.release("9.8.8").stderr)

    def test_what_fails_or_is_interrupted_leaves_the_sources_as_they_were(self):
        self.commit()
        for raised in (KeyboardInterrupt(), OSError("disk full")):

            def fail(*_):
                raise raised

            module = self.module(print)
            module.Release.source = fail
            with unittest.mock.patch.object(sys, "argv", ["release", "9.8.7", "--only", "source"]):
                self.assertRaises(type(raised), module.main)
        self.assertEqual(self.release("9.8.7").returncode, 0)  # as if nothing had been

    def test_a_source_archive_is_the_same_in_two_places(self):
        done = self.release("--verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"same +xtune-{VERSION}.tar.gz")

    def module(self, run):
        """tools/release, whose commands call run(words) instead."""
        loader = importlib.machinery.SourceFileLoader("release", str(self.root / "tools/release"))
        module = types.ModuleType("release")
        module.__file__ = loader.path
        exec(loader.get_code("release"), module.__dict__)
        module.run = lambda *words, **_: run([str(word) for word in words])
        return module

    def test_a_wheel_of_each_machine_is_built_with_the_libraries_for_it(self):
        commands = []
        out = self.root / "out"
        module = self.module(commands.append)
        module.Release(self.root, self.root / "work", out, 3).build(["wheel-x86_64", "wheel-aarch64"])
        for (libraries, wheel), machine in zip((commands[:2], commands[2:]), ("x86_64", "aarch64")):
            portable = str(self.root / "build/portable" / machine)
            self.assertEqual(libraries[1:], [portable, machine])
            self.assertIn(f"portable={portable}", wheel)
            self.assertEqual(wheel[wheel.index("-w") + 1], str(out))

    def test_an_archive_is_the_same_whenever_its_files_were_installed(self):
        def install(words, time):
            if words[:2] != ["cmake", "--install"]:
                return
            folder = pathlib.Path(words[words.index("--prefix") + 1]) / "lib"
            folder.mkdir(parents=True)
            for name in ("b.so.1", "a.so.1")[:: 1 if time == 1 else -1]:
                (folder / name).write_text(name)
                os.utime(folder / name, (time, time))
            (folder / "b.so").symlink_to("b.so.1")

        packed = []
        for time in (1, 10**9):
            out = self.root / f"out-{time}"
            module = self.module(lambda words: install(words, time))
            module.Release(self.root, self.root / f"work-{time}", out, 1).build(["archive"])
            (archive,) = out.glob("*.tar.gz")
            packed.append(archive.read_bytes())
        self.assertEqual(packed[0], packed[1])
        name = f"xtune-{VERSION}-linux-{os.uname().machine}"
        self.assertEqual(archive.name, f"{name}.tar.gz")
        with tarfile.open(archive) as tar:
            self.assertEqual(tar.getnames(), [f"{name}/lib/{each}" for each in ("a.so.1", "b.so", "b.so.1")])
            self.assertEqual(tar.getmember(f"{name}/lib/b.so").linkname, "b.so.1")

    def test_both_builds_of_a_comparison_are_of_the_same_sources_with_the_settings_of_two_users(self):
        source = self.root / "docs/install.md"
        settings = set()

        def install(words):
            if words[:2] == ["cmake", "--install"]:
                installed = pathlib.Path(words[words.index("--prefix") + 1])
                shutil.copytree(installed.parent / f"xtune-{VERSION}/docs", installed)
                (installed / "made").touch()
                settings.add((os.environ.get("TZ"), (installed / "made").stat().st_mode & 0o777))
                source.write_text("changed while the first is built")

        module = self.module(install)
        with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch.dict(os.environ):
            self.assertEqual(module.verify(["archive"], 1), 0)
        self.assertEqual({len(set(each)) for each in zip(*settings)}, {2})

    def test_mistakes_change_nothing(self):
        def check(message, *words):
            done = self.release(*words)
            self.assertEqual((done.returncode, message in done.stderr), (2, True), done.stderr)

        (self.root / "mine").mkdir()
        (self.root / "mine/work.txt").write_text("not of a release")
        check("not a git repository", "9.8.7")
        self.commit()
        self.git("tag", "v9.8.6")
        for message, *words in [
            (f"{VERSION} is not newer than {VERSION}", VERSION),
            ("0.3 is not a version", "0.3"),
            ("the tag v9.8.6 exists", "9.8.6"),
            ("'next week'", "9.8.7", "--date", "next week"),
            ("2020-01-02 is before", "9.8.7", "--date", "2020-01-02"),
            ("give a VERSION, --built or --verify", "1.2.3", "--verify"),
            ("the kinds are", "--built", "--only", "rpm"),
            ("has other files", "--built", "--out", str(self.root / "mine")),
        ]:
            check(message, *words)
        changelog = re.sub(r"(?s)^(## Unreleased\n).*?^## ", r"\1\n## ", text_of("CHANGELOG.md"), count=1, flags=re.M)
        (self.root / "CHANGELOG.md").write_text(changelog)
        self.git("commit", "--all", "-m", "nothing new")
        check("nothing below Unreleased", "9.8.7")
        self.assertFalse((self.root / "build").exists())
        self.assertTrue((self.root / "mine/work.txt").exists())

    def test_what_a_kind_needs_is_missed_before_anything_is_built(self):
        module = self.module(self.fail)
        with unittest.mock.patch.dict(os.environ, PATH=""), unittest.mock.patch.object(
            sys, "argv", ["release", "--built", "--only", "archive,deb"]
        ):
            with self.assertRaisesRegex(module.Mistake, "dpkg-buildpackage"):
                module.main()


class Licence(unittest.TestCase):
    @unittest.skipUnless(COMMON_LICENSE.exists(), "no common licences here")
    def test_it_is_the_whole_apache_license(self):
        self.assertEqual(text_of("LICENSE"), COMMON_LICENSE.read_text())

    def test_build_and_packaging_files_name_it(self):
        files = [
            ROOT / "CMakeLists.txt",
            ROOT / "Makefile",
            ROOT / "cmake/install-deps",
            RECIPE,
            ROOT / "packaging/Dockerfile",
            ROOT / "packaging/lmod/xtune.lua.in",
            ROOT / "packaging/spack/repo.yaml",
            *(ROOT / "cmake").glob("*.cmake"),
        ]
        for path in files:
            self.assertIn(SPDX, path.read_text()[:200], path)

    def test_spack_the_citation_and_the_deb_name_it(self):
        _, told = load_recipe(False)
        self.assertIn(("license", ("Apache-2.0",), {}), told)
        self.assertIn("\nlicense: Apache-2.0\n", text_of("CITATION.cff"))

    def test_the_debs_copyright_file_has_the_paragraphs_of_dep_5(self):
        paragraphs = [
            dict(re.findall(r"^([A-Z][\w-]*): *(.*)$", paragraph, re.MULTILINE))
            for paragraph in re.split(r"\n\n+", text_of("packaging/debian/copyright").strip())
        ]
        self.assertEqual(paragraphs[0]["Format"], "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/")
        files, licences = paragraphs[1], {paragraph["License"] for paragraph in paragraphs if "License" in paragraph}
        self.assertEqual(files["Files"], "*")
        self.assertTrue(files["Copyright"])
        self.assertEqual(licences, {"Apache-2.0"})
        self.assertEqual(list(paragraphs[-1]), ["License"])


@unittest.skipUnless(yaml, "PyYAML is not installed [apt: python3-yaml]")
class PublicFiles(unittest.TestCase):
    def test_the_citation_has_what_the_format_asks_for(self):
        citation = yaml.safe_load(text_of("CITATION.cff"))
        self.assertEqual(citation["cff-version"], "1.2.0")
        for key in ("message", "title", "authors"):
            self.assertTrue(citation[key], key)
        known = {
            "cff-version",
            "message",
            "title",
            "abstract",
            "type",
            "authors",
            "version",
            "date-released",
            "license",
            "keywords",
            "repository-code",
            "url",
            "doi",
            "identifiers",
            "contact",
            "references",
        }
        self.assertEqual(set(citation) - known, set())
        self.assertEqual(str(citation["version"]), VERSION)

    def test_issue_forms_have_unique_fields(self):
        forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
        self.assertGreaterEqual(len(forms), 2)
        for path in forms:
            form = yaml.safe_load(path.read_text())
            self.assertTrue(form["name"] and form["description"], path)
            fields = [part["id"] for part in form["body"] if part["type"] != "markdown"]
            self.assertEqual(len(fields), len(set(fields)), path)
            for part in form["body"]:
                self.assertIn(part["type"], ("markdown", "textarea", "input", "dropdown", "checkboxes"))

    def test_workflows_use_presets_targets_and_files_that_exist(self):
        presets = json.loads(text_of("CMakePresets.json"))
        known = {preset["name"] for preset in presets["configurePresets"] if not preset.get("hidden")}
        targets = set(re.findall(r"^([a-z][a-z0-9 ]*):", text_of("Makefile"), re.MULTILINE))
        targets = {word for line in targets for word in line.split()}
        workflows = list((ROOT / ".github/workflows").glob("*.yml"))
        self.assertTrue(workflows)
        used = set()
        for path in workflows:
            jobs = yaml.safe_load(path.read_text())["jobs"]
            for job in jobs.values():
                for one in job.get("strategy", {}).get("matrix", {}).get("include", []):
                    used.add(one["preset"])
                for step in job["steps"]:
                    if "uses" in step:  # by the hash of a commit
                        self.assertRegex(step["uses"], r"^[\w/-]+@[0-9a-f]{40}$")
                    self.assertEqual(len({"run", "uses"} & set(step)), 1, step)
                    script = step.get("run", "")
                    used |= set(re.findall(r"--preset ([\w-]+)", script))
                    self.assertLessEqual(set(re.findall(r"(?m)^\s*make (\w+)", script)), targets)
                    for file in re.findall(r"(?<!\S)((?:cmake|tests)/[\w./-]+)", script):
                        self.assertTrue((ROOT / file).exists(), file)
        self.assertLessEqual(used, known)
        self.assertLessEqual({"dev", "asan", "tsan"}, used)

    def test_the_published_site_keeps_each_version_and_shows_the_newest_first(self):
        """The last step of the workflow `release`, on a branch that has the site."""
        step = yaml.safe_load(text_of(".github/workflows/release.yml"))["jobs"]["site"]["steps"][-1]
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder) / "pages"
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
            for words in [["init", "--bare", "remote"], ["clone", "remote", "pages"]]:
                subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)
            # A fix of an older version comes after a newer one, and a version is published again.
            for tag, text in [("v0.9.0", "a"), ("v0.10.0", "b"), ("v0.9.1", "c"), ("v0.9.0", "d")]:
                (pages / "site").mkdir()
                (pages / "site/index.html").write_text(text)
                command = ["bash", "-e", "-c", step["run"]]
                done = subprocess.run(
                    command, cwd=pages, env={**environment, "TAG": tag}, check=False, capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, done.stderr)
            texts = {path.parent.name: path.read_text() for path in pages.glob("*/index.html")}
            self.assertEqual(texts, {"0.9.0": "d", "0.9.1": "c", "0.10.0": "b", "latest": "b"})
            chooser = json.loads((pages / "versions.json").read_text())
            self.assertEqual([each["version"] for each in chooser], ["0.10.0", "0.9.1", "0.9.0"])
            self.assertEqual(chooser[0], {"version": "0.10.0", "title": "0.10.0", "aliases": ["latest"]})
            self.assertIn("latest/", (pages / "index.html").read_text())
            self.assertTrue((pages / ".nojekyll").exists())  # else files with a leading underscore are left out
            subprocess.run(["git", "diff", "--exit-code", "@{upstream}"], cwd=pages, check=True, capture_output=True)


class Skips(unittest.TestCase):
    """Tests that are skipped for lack of a package."""

    def test_ci_installs_every_package_that_they_name(self):
        self.assertIn("cmake/install-deps tests\n", text_of(".ci/run"))
        lists = re.findall(r'^\w+="([^"]*)"', text_of("cmake/install-deps"), re.MULTILINE)
        named = set()
        for path in [
            *(ROOT / "tests").rglob("*.*pp"),
            *(ROOT / "tests").rglob("*.py"),
            *(ROOT / "tests").rglob("*.cmake"),
        ]:
            for packages in re.findall(r"skip.*\[apt: ([a-z\d +-]+)\]", path.read_text()):
                named.update(packages.split())
        for path in (ROOT / "tests").rglob("CMakeLists.txt"):
            for packages in re.findall(r'xtune_skipped_test\(\w+\s+"[^"]*"\s+"?([a-z\d +-]+)"?\)', path.read_text()):
                named.update(packages.split())
        self.assertLessEqual(
            {"chromium", "slurm-wlm", "mkdocs-material", "python3-dev", "doxygen", "rsync", "pkg-config"}, named
        )
        self.assertEqual(named - set(" ".join(lists).split()), set())

    def test_the_last_line_names_tests_and_packages(self):
        log = """1/3 Test: browser
Output:
skipped: no Chromium [apt: chromium]
2/3 Test: cli
x.cpp:7: MESSAGE: skipped: zsh is not installed [apt: zsh]
x.cpp:9: MESSAGE: skipped: this test needs a GPU
x.cpp:11: MESSAGE: skipped: no cuda device: no driver (Debian: nvidia-driver; libcuda.so.1: not found)
a.jsonl:4: skipped: not JSON [apt: zsh]
3/3 Test: packaging
test_a (__main__.A) ... skipped 'Lmod is not installed [apt: lmod]'
test_b (__main__.A) ... ok
"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "Testing/Temporary/LastTest.log"
            file.parent.mkdir(parents=True)

            def printed(text, *options):
                file.write_text(text)
                done = subprocess.run(
                    [sys.executable, str(ROOT / "tests/skipped.py"), *options, folder],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                return done.returncode, done.stdout.splitlines()

            code, lines = printed(log, "--strict")
            self.assertEqual(code, 1)
            self.assertEqual(
                lines[-1],
                "skipped for lack of packages: browser, cli, packaging. "
                "To run them: apt-get install chromium zsh lmod",
            )
            self.assertIn("skipped in cli: this test needs a GPU", lines)
            self.assertEqual(printed(log)[0], 0)
            only_gpu = "".join(line + "\n" for line in log.splitlines() if "[apt: " not in line)
            code, lines = printed(only_gpu, "--strict")
            self.assertEqual((code, lines[-1]), (0, "skipped for lack of packages: nothing"))


class Image(unittest.TestCase):
    def test_the_dockerfile_uses_presets_and_files_that_exist(self):
        dockerfile = text_of("packaging/Dockerfile")
        known = {preset["name"] for preset in json.loads(text_of("CMakePresets.json"))["configurePresets"]}
        self.assertLessEqual(set(re.findall(r"--preset ([\w-]+)", dockerfile)), known)
        files = re.findall(r"(?m)^(?:RUN|COPY) ((?:cmake|tools)/\S+)", dockerfile)
        self.assertTrue(files)
        for file in files:
            self.assertTrue(os.access(ROOT / file, os.X_OK), file)


class SpackRecipe(unittest.TestCase):
    def test_it_loads_with_spack_of_today_and_before_1_0(self):
        for before in (False, True):
            module, told = load_recipe(before)
            self.assertTrue(issubclass(module.Xtune, StandIn))
            self.assertEqual(module.Xtune.git, f"file://{ROOT}")
            self.assertTrue(any(name == "version" for name, _, _ in told))

    def test_every_dependency_of_the_build_is_named_and_no_other(self):
        _, told = load_recipe(False)
        named = {re.match(r"[a-z0-9-]+", what[0]).group() for name, what, _ in told if name == "depends_on"}
        text = (ROOT / "cmake/install-deps").read_text()
        libraries, packages = (re.search(rf'{name}="([^"]*)"', text).group(1) for name in ("libraries", "packages"))
        debian = packages.replace("$libraries", libraries).split()
        self.assertEqual({IN_SPACK[package] for package in debian} | {"cuda", "hip", "llvm", "py-numpy"}, named)

    def test_every_option_exists_in_cmake_and_follows_its_variant(self):
        module, told = load_recipe(False)
        variants = {what[0] for name, what, _ in told if name == "variant"}
        self.assertEqual(variants, {"cuda", "rocm", "library", "python", "emulator", "kokkos"})
        cmake = (ROOT / "CMakeLists.txt").read_text()
        all_on = module.Xtune(dict.fromkeys(variants, True), run_tests=True).cmake_args()
        all_off = module.Xtune(dict.fromkeys(variants, False)).cmake_args()
        for argument in all_on:
            name = re.match(r"-D(\w+)=", argument).group(1)
            self.assertRegex(cmake, rf"(option|set)\({name}\b")
        named = [re.match(r"-D(\w+)=", argument).group(1) for argument in all_on]
        switches = set(named) - {"XTUNE_HIP_PLATFORM", "XTUNE_PACKAGED"}
        for switch in switches:
            self.assertIn(f"-D{switch}=ON", all_on)
            self.assertIn(f"-D{switch}=OFF", all_off)

    def test_the_tools_and_versions_are_cmakes(self):
        _, told = load_recipe(False)
        cmake = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertIn(f"cmake@{cmake}:", [what[0] for name, what, _ in told if name == "depends_on"])

    def test_its_lines_are_as_short_as_spack_wants_them(self):
        self.assertLessEqual(max(map(len, RECIPE.read_text().splitlines())), 99)

    @unittest.skipUnless(shutil.which("pyflakes3"), "pyflakes is not installed [apt: pyflakes3]")
    def test_pyflakes_finds_nothing_but_spacks_own_idiom(self):
        result = subprocess.run(["pyflakes3", str(RECIPE)], capture_output=True, text=True)
        others = [line for line in result.stdout.splitlines() if "import *" not in line and "star imports" not in line]
        self.assertEqual(others, [])


class Wheel(unittest.TestCase):
    """What the wheel's files say and start; tests/python/wheel.py builds and installs it."""

    def setUp(self):
        sys.path.insert(0, str(ROOT / "python/build"))
        import xtune_build

        self.backend = xtune_build
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def packed(self, name, files):
        """A wheel of these files by a compiler for glibc 2.17: its name, what it has, and its bytes."""
        portable = self.folder / "portable"
        (portable / "licences").mkdir(parents=True, exist_ok=True)
        (portable / "licences/zlib.txt").write_text("zlib's")
        (portable / "target").write_text("x86_64-linux-gnu.2.17\n")
        (self.folder / name).mkdir()
        wheel = self.backend._write_wheel(self.folder / name, {each: (b"", 0o755) for each in files}, portable)
        with zipfile.ZipFile(self.folder / name / wheel) as archive:
            contents = {each: archive.read(each).decode() for each in archive.namelist()}
        return wheel, contents, (self.folder / name / wheel).read_bytes()

    def test_its_tag_says_what_it_serves_and_its_bytes_are_always_the_same(self):
        wheel, contents, data = self.packed("one", ["xtune/_native.abi3.so"])
        self.assertEqual(wheel, f"xtune-{VERSION}-cp39-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
        tags = re.findall("(?m)^Tag: (.*)$", contents[f"xtune-{VERSION}.dist-info/WHEEL"])
        self.assertEqual(tags, ["cp39-abi3-manylinux2014_x86_64", "cp39-abi3-manylinux_2_17_x86_64"])
        self.assertEqual(data, self.packed("two", ["xtune/_native.abi3.so"])[2])

    def test_its_metadata_names_licences_extras_and_a_readme_without_relative_links(self):
        contents = self.packed("one", [])[1]
        metadata = contents[f"xtune-{VERSION}.dist-info/METADATA"]
        head, readme = metadata.split("\n\n", 1)
        lines = head.splitlines()
        for line in [
            "Metadata-Version: 2.4",
            "License-Expression: Apache-2.0",
            'Requires-Dist: ziglang>=0.17; extra == "host"',
        ]:
            self.assertIn(line, lines)
        self.assertFalse([line for line in lines if line.startswith("Classifier: License")])
        files = [line.split(": ")[1] for line in lines if line.startswith("License-File")]
        self.assertEqual(files, ["LICENSE", "third-party/zlib.txt"])
        for each in files:
            self.assertIn(f"xtune-{VERSION}.dist-info/licenses/{each}", contents)
        self.assertIn("# xtune", readme)
        self.assertEqual(re.findall(r"\]\((?!https?:|#)[^)]*\)", readme), [])

    def test_the_command_starts_the_program_without_loading_the_package(self):
        package = self.folder / "site-packages/xtune"
        self.program(package / "xtune", 'echo "$@" "$XTUNE_PYTHON_PACKAGES"')
        (package / "__init__.py").write_text("raise SystemExit('loaded')")
        (module, source), (points, entry) = self.backend._command().items()
        (package.parent / module).write_bytes(source[0])
        self.assertEqual(points, f"xtune-{VERSION}.dist-info/entry_points.txt")
        name, function = re.search(r"^\[console_scripts\]\nxtune = (\w+):(\w+)\n$", entry[0].decode()).groups()
        environment = {**os.environ, "PYTHONPATH": str(package.parent), "XTUNE_PROGRAM": ""}
        environment.pop("XTUNE_PYTHON_PACKAGES", None)
        command = [sys.executable, "-c", f"from {name} import {function}; {function}()", "run", "a b"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.split(":")[0].strip(), f"run a b {package.parent}", done.stderr)
        (package / "xtune").unlink()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^xtune: cannot start .*/xtune/xtune: No such file.*\n$")

    def test_zig_is_called_as_clang_is(self):
        self.program(self.folder / "ziglang/zig", 'echo "$@" "$ZIG_LOCAL_CACHE_DIR"')
        compiler = shutil.copy(ROOT / "python/xtune/zig-c++", self.program(self.folder / "xtune/zig-c++", ""))
        machine = os.uname().machine
        for given, expected in [
            (
                "-x c++-cpp-output -march=x86-64-v3 -o a,b.so -",
                "-nostdlib++ -x c++ -march=x86_64_v3 -o a,b.so - /t/zig",
            ),
            ("-E -march=x86-64 -", "-E -march=x86_64 - /t/zig"),
            ("-E -march=armv8-a -", "-E -mcpu=generic+v8a - /t/zig"),
            ("-E -march=armv8.2-a+sve -", "-E -mcpu=generic+v8_2a+sve - /t/zig"),
            ("-E -mcpu=neoverse-n1 -", "-E -mcpu=neoverse_n1 - /t/zig"),
        ]:
            done = subprocess.run(
                [compiler, *given.split()],
                env={**os.environ, "TMPDIR": "/t"},
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(done.stdout.strip(), f"c++ -target {machine}-linux-gnu {expected}")

    def test_zig_has_a_cache_where_the_home_directory_cannot_be_written_to(self):
        self.program(self.folder / "ziglang/zig", 'echo "$ZIG_GLOBAL_CACHE_DIR"')
        compiler = shutil.copy(ROOT / "python/xtune/zig-c++", self.program(self.folder / "xtune/zig-c++", ""))
        cache = self.folder / f"xtune-zig-{os.geteuid()}"

        def cache_with(**variables):
            variables = {"PATH": os.environ["PATH"], "XTUNE_TMP_DIR": str(self.folder), **variables}
            done = subprocess.run([compiler], env=variables, capture_output=True, text=True, check=False)
            return done.stdout.strip() or (done.returncode, done.stderr)

        self.assertEqual(cache_with(HOME=str(self.folder / "home")), (0, ""))  # Zig's own choice
        self.assertEqual(cache_with(HOME="/dev/null", ZIG_GLOBAL_CACHE_DIR="/z"), "/z")
        self.assertEqual(cache_with(HOME="/dev/null"), str(cache))
        self.assertEqual(cache_with(), str(cache))
        self.assertEqual(cache.stat().st_mode & 0o777, 0o700)
        cache.rmdir()
        cache.symlink_to("/tmp")
        self.assertRegex(cache_with()[1], "another user's")


class Installed(unittest.TestCase):
    """A test of the installed files, in a tree that was moved."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name) / "moved here"
        before = pathlib.Path(folder.name) / "installed"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(before)], check=True, capture_output=True)
        before.rename(self.prefix)


class Files(Installed):
    def test_documents_examples_manuals_and_completion_are_installed(self):
        share = self.prefix / "share"
        for name in ("README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff"):
            self.assertEqual((share / "doc/xtune" / name).read_text(), text_of(name))
        self.assertEqual((share / "doc/xtune/copyright").read_text(), text_of("packaging/debian/copyright"))
        pairs = [
            ("docs/*.md", "doc/xtune/docs"),
            ("docs/images/*.svg", "doc/xtune/docs/images"),
            ("examples/*/*", "doc/xtune/examples/*"),
            ("configs/*", "xtune/configs"),
        ]
        for sources, place in pairs:
            for source in ROOT.glob(sources):
                installed = share / place.replace("*", source.parent.name) / source.name
                self.assertTrue(installed.exists(), installed)
        for name in (
            "man/man1/xtune.1",
            "man/man1/xtune-run.1",
            "man/man1/xtune-store-ls.1",
            "bash-completion/completions/xtune",
            "zsh/site-functions/_xtune",
            "fish/vendor_completions.d/xtune.fish",
        ):
            self.assertTrue((share / name).read_text(), name)

    @unittest.skipUnless(yaml, "PyYAML is not installed [apt: python3-yaml]")
    def test_each_is_in_one_package_of_conda_and_each_package_takes_what_was_built_once(self):
        recipe = yaml.safe_load(text_of("packaging/conda/recipe.yaml").replace("@", "_"))
        # What rattler-build knows beside `outputs`.
        known = {"schema_version", "context", "recipe", "source", "build", "about", "outputs"}
        self.assertEqual(set(recipe) - known, set())
        built, *packages = recipe["outputs"]
        self.assertEqual({each["inherit"] for each in packages}, {built["staging"]["name"]})
        patterns = [pattern for each in packages for pattern in each["build"]["files"]]
        for path in self.prefix.rglob("*"):
            name = re.sub(r"^lib[^/]*/([^/]*-linux-[^/]*/)?", "lib/", path.relative_to(self.prefix).as_posix())
            if not path.is_dir():
                self.assertEqual(len([each for each in patterns if fnmatch.fnmatch(name, each)]), 1, name)

    def test_the_kokkos_connector_is_installed_where_it_was_built(self):
        built = (BUILD / "tools/kokkos/libxtune_kokkos.so").exists()
        self.assertEqual(bool(list(self.prefix.glob("lib*/**/xtune/libxtune_kokkos.so"))), built)

    def test_what_was_not_built_is_not_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            # The build's own rules, for libraries that are not there: only the program was built.
            for script in BUILD.glob("**/cmake_install.cmake"):
                text = script.read_text().replace(f'include("{BUILD}', f'include("{folder}')
                copy = pathlib.Path(folder) / script.relative_to(BUILD)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(re.sub(r"libxtune(_kokkos|_amdhip64)?\.so", r"libnot-built\1.so", text))
            prefix = pathlib.Path(folder) / "prefix"
            done = subprocess.run(
                ["cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", f"{folder}/cmake_install.cmake"],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Not installed, because it was not built: the library", done.stdout)
            installed = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
            self.assertLessEqual(
                {"bin/xtune", "share/man/man1/xtune-run.1", "share/xtune/configs/gemm.toml"}, installed
            )
            self.assertEqual([name for name in installed if name.startswith("lib") or name.endswith("tunable.hpp")], [])
            subprocess.run([str(prefix / "bin/xtune"), "--version"], check=True, capture_output=True)

    def test_the_installed_program_reads_installed_examples(self):
        share = self.prefix / "share"
        environment = {**os.environ, "XTUNE_CACHE_DIR": str(self.prefix / "store")}
        for spec in ("doc/xtune/examples/process/stencil.toml", "xtune/configs/gemm.toml"):
            result = subprocess.run(
                [str(self.prefix / "bin/xtune"), "check", str(share / spec)],
                capture_output=True,
                text=True,
                env=environment,
            )
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_copy_of_an_installed_batch_system_is_taken(self):
        site = self.prefix / "site.toml"
        shutil.copy(self.prefix / "share/xtune/schedulers/sge.toml", site)
        words = ["submit", "reduction", "--backend", "host", "--scheduler", str(site), "--dry-run"]
        result = subprocess.run(
            [str(self.prefix / "bin/xtune"), *words],
            capture_output=True,
            text=True,
            env={**os.environ, "XTUNE_CACHE_DIR": str(self.prefix / "store")},
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("#$ -pe mpi 1\n", result.stdout)

    def test_the_installed_kernels_run_by_name_and_nothing_is_written_beside_them(self):
        share, elsewhere = self.prefix / "share/xtune", self.prefix / "elsewhere"
        elsewhere.mkdir()
        before = sorted(share.rglob("*"))
        for path in before:
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", str(share)], check=True)
        for words in (["run", "reduction", "-D", "n=1000", "--evals", "1", "--backend", "host"], ["kernels"]):
            result = subprocess.run(
                [str(self.prefix / "bin/xtune"), *words],
                cwd=elsewhere,
                capture_output=True,
                text=True,
                env={**os.environ, "XTUNE_CACHE_DIR": str(self.prefix / "store")},
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            if words[0] == "run":
                self.assertIn(
                    f"note: reduction is {share}/configs/reduction.toml, which comes with xtune", result.stderr
                )
        self.assertIn("\ngemm_hopper ", result.stdout)
        self.assertEqual(sorted(share.rglob("*")), before)


class Modulefile(Installed):
    def module(self, script):
        modules = self.prefix / "share/xtune/modulefiles"
        text = f'. "{LMOD}"; module use "{modules}"; {script}'
        return subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True)

    def test_it_is_installed_with_the_version(self):
        text = (self.prefix / f"share/xtune/modulefiles/xtune/{VERSION}.lua").read_text()
        self.assertIn(f'whatis("Version: {VERSION}")', text)
        self.assertNotIn("@", text)

    @unittest.skipUnless(LMOD, "Lmod is not installed [apt: lmod]")
    def test_load_finds_the_program_wherever_the_tree_lies_and_unload_takes_it_back(self):
        result = self.module(
            'module load xtune && command -v xtune && xtune --version && echo "$XTUNE_ROOT" '
            '&& module unload xtune && echo "left: $XTUNE_ROOT" && echo "$PATH"'
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], str(self.prefix / "bin/xtune"))
        self.assertEqual(lines[2:4], [str(self.prefix), "left: "])
        self.assertNotIn(str(self.prefix), lines[4])

    @unittest.skipUnless(LMOD, "Lmod is not installed [apt: lmod]")
    def test_out_of_its_place_it_says_so(self):
        module = next((self.prefix / "share/xtune/modulefiles/xtune").glob("*.lua"))
        other = self.prefix / "elsewhere/xtune"
        other.mkdir(parents=True)
        shutil.move(str(module), str(other / module.name))
        result = self.module(f'module use "{other.parent}"; module load xtune')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("is not where it was installed", " ".join(result.stderr.split()))  # Lmod breaks lines


def main():
    global BUILD
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder whose targets are built")
    BUILD = parser.parse_args().build.resolve()
    unittest.main(argv=[sys.argv[0], "-v"])


if __name__ == "__main__":
    main()
