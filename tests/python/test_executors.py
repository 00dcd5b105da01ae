# SPDX-License-Identifier: Apache-2.0
"""tune(executor=...): engines, workers that are killed, configurations that kill them, several kinds of devices."""
import concurrent.futures
import functools
import io
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import zipfile

import numpy as np
from support import HOST, QUICK, SAXPY, arrays, xtune

from xtune import _remote

X, Y = arrays()
#: The answer does not depend on a time, so that it is the same wherever and however often it is measured.
SCORE = "(UNROLL - 3) * (UNROLL - 3) * 10 + abs(BLOCK - 64)"
SPACE = {"UNROLL": [2, 3], "BLOCK": [32, 64]}
os.environ.setdefault("XTUNE_BUSY", "no")  # a disturbed result ranks last


def setUpModule():
    os.environ["XTUNE_TEST_DRIVER"] = str(os.getpid())


def is_worker():
    return os.environ.get("XTUNE_TEST_DRIVER") != str(os.getpid())


def kill_self():
    """A worker ends without a word; the driver and its threads stay."""
    if is_worker():
        os.kill(os.getpid(), signal.SIGKILL)


def expected(x, y, a):
    """Kills the first worker that measures."""
    mark = os.environ.get("XTUNE_TEST_MARK")
    if mark and is_worker():
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            kill_self()
    return a * x + y


def deadly(y, UNROLL):
    if UNROLL == 2:
        kill_self()
    return True


def definition(**changes):
    """Four configurations."""
    given = {
        "kernel": SAXPY,
        "params": SPACE,
        "block": "BLOCK",
        "grid": "ceildiv(n, BLOCK * UNROLL)",
        "args": {"x": X, "y": xtune.InOut(Y), "a": np.float32(2), "n": np.int32(X.size)},
        "measure": QUICK,
        "search": {"strategy": "exhaustive"},
        "minimize": SCORE,
        "reference": expected,
        "keep": False,
    }
    return {**given, **HOST, **changes}


def answer(result):
    """What must not depend on how it was found."""
    tried = sorted(str(sorted(each.config.items())) for each in result.measurements)
    return result.best.config, result.counts, tried


class Replacing(concurrent.futures.Executor):
    """An engine that starts a new worker in the place of one that was lost, as Dask and Parsl do."""

    def __init__(self, workers):
        self._max_workers, self.lost = workers, 0
        self._jobs = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve) for _ in range(workers)]
        for each in self._threads:
            each.start()

    def submit(self, function, *arguments):
        future = concurrent.futures.Future()
        self._jobs.put((future, function, arguments))
        return future

    def _serve(self):
        new = lambda: concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        worker = new()
        while (job := self._jobs.get()) is not None:
            future, function, arguments = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(worker.submit(function, *arguments).result())
            except Exception as error:
                future.set_exception(error)
                if isinstance(error, concurrent.futures.BrokenExecutor):
                    self.lost += 1
                    worker = new()
        worker.shutdown()

    def shutdown(self, wait=True, **_):
        for _ in self._threads:
            self._jobs.put(None)
        for each in self._threads:
            each.join()


def emulate(arch):
    os.environ.update(XTUNE_EMULATED_ARCH=arch, XTUNE_HIP_LIBRARY=os.environ["XTUNE_EMULATED_HIP"])


class TwoNodes(concurrent.futures.Executor):
    """A worker with an emulated GPU of each architecture; they take turns."""

    def __init__(self):
        new, context = concurrent.futures.ProcessPoolExecutor, multiprocessing.get_context("spawn")
        self.nodes = [new(1, context, emulate, (arch,)) for arch in ("gfx942", "gfx90a")]
        self._max_workers = len(self.nodes)

    def submit(self, function, *arguments):
        self.nodes.append(self.nodes.pop(0))
        return self.nodes[0].submit(function, *arguments)

    def shutdown(self, wait=True, **_):
        for each in self.nodes:
            each.shutdown()


class Now(concurrent.futures.Executor):
    """Each job is done, or fails with the given error, when it is submitted."""

    def __init__(self, error=None):
        self.error = error

    def submit(self, function, *arguments):
        future = concurrent.futures.Future()
        if self.error is not None:
            future.set_exception(self.error)
            return future
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Executors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.local = xtune.tune(**definition())

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="xtune-executors-")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        os.environ["XTUNE_TEST_MARK"] = str(self.place / "killed")
        self.addCleanup(os.environ.pop, "XTUNE_TEST_MARK")

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            result = xtune.tune(**definition(executor=executor, store=self.place, keep=True))
            again = xtune.tune(**definition(executor=executor, store=self.place, keep=True))
        self.assertEqual(answer(result), answer(self.local))
        self.assertEqual((result.from_store, again.from_store), (0, 4))
        self.assertEqual(answer(again), answer(self.local))
        y = Y.copy()
        result.kernel()(X, y, np.float32(2), np.int32(X.size))
        np.testing.assert_array_equal(y, 2 * X + Y)
        self.assertIn("saxpy", result.source)
        local = xtune.tune(**definition(store=self.place, keep=True))
        self.assertEqual(local.from_store, 4)

    def test_an_engine_that_replaces_a_killed_worker(self):
        with Replacing(4) as executor:
            result = xtune.tune(**definition(executor=executor))
        self.assertEqual(executor.lost, 1)
        self.assertEqual(answer(result), answer(self.local))

    def test_processes_that_break_as_a_whole(self):
        """Of Python's own pool all workers are lost with one; another pool goes on from the store."""
        context = multiprocessing.get_context("spawn")
        kept = definition(store=self.place, keep=True)
        with concurrent.futures.ProcessPoolExecutor(4, context) as executor:
            with self.assertRaisesRegex(xtune.UnavailableError, "takes no more jobs: BrokenProcessPool.*new executor"):
                xtune.tune(**kept, executor=executor)
        with concurrent.futures.ProcessPoolExecutor(4, context) as executor:
            result = xtune.tune(**kept, executor=executor)
        self.assertTrue((self.place / "killed").exists())
        self.assertEqual(answer(result), answer(self.local))

    def test_a_configuration_that_kills_its_workers(self):
        (self.place / "killed").touch()
        told = []
        with Replacing(2) as executor, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = xtune.tune(
                **definition(executor=executor, validator=deadly, on_measurement=told.append, reference=None)
            )
        self.assertEqual(result.counts, {"ok": 2, "crashed": 2})
        self.assertEqual(result.best.config, self.local.best.config)
        crashed = [each for each in result.measurements if each.outcome == "crashed"]
        self.assertEqual({each.config["UNROLL"] for each in crashed}, {2})
        for each in crashed:
            self.assertRegex(each.message, "lost 3 times with its worker, at last by BrokenProcessPool")
        self.assertEqual(len(told), 4)
        self.assertIn("not stored", str(caught[0].message))

    def test_learning(self):
        (self.place / "killed").touch()
        search = {"strategy": "local", "evals": 3}
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            result = xtune.tune(**definition(executor=executor, search=search))
        self.assertEqual(len(result.measurements), 3)

    def test_finals_of_a_worker(self):
        (self.place / "killed").touch()
        given = definition(minimize=None, measure={**QUICK, "rep": 12, "finals": 2})
        source, keep, backend, jobs = (given.pop(name) for name in ("kernel", "keep", "backend", "jobs"))
        parcel = _remote.parcel_of(source, given, xtune.Tunable(source=source, **given))
        settings = {"backend": backend, "jobs": jobs}
        job = lambda offers: _remote.work(xtune.__version__, pickle.dumps((parcel, settings, offers)))
        kind, target, *nothing = job({})
        self.assertEqual(nothing, [b"", b""])
        configs = [{"UNROLL": 3, "BLOCK": block} for block in (32, 64)]
        records, files = job({"another kind": None, kind: ({"n": X.size}, configs, True)})[2:]
        finals = [each for each in map(json.loads, records.splitlines()) if each.get("finals")]
        self.assertEqual(
            [each["config"]["BLOCK"] for each in sorted(finals, key=lambda each: each["config"]["BLOCK"])], [32, 64]
        )
        self.assertEqual(len({each["finals"] for each in finals}), 1)
        self.assertIn("artifacts", {name.split("/")[0] for name in zipfile.ZipFile(io.BytesIO(files)).namelist()})

    def test_a_spec_with_its_files(self):
        spec = self.place / "spec"
        (spec / "parts").mkdir(parents=True)
        (spec / "parts" / "add.h").write_text("#define ADD(a, b) ((a) + (b))\n")
        (spec / "k.cu").write_text(
            '#include "add.h"\nextern "C" __global__ void k(float* y, int n) {\n'
            "  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = ADD(y[i], 1);\n}\n"
        )
        (spec / "k.toml").write_text(
            '[kernel]\nname = "k"\nsource = "k.cu"\ninclude_dirs = ["parts"]\n[problem]\nN = 64\n[[cases]]\nN = 32\n'
            '[[cases]]\nN = 48\n[space.params]\nBLOCK = [32, 64]\n[launch]\ngrid = ["1"]\nblock = ["BLOCK"]\n'
            '[[args]]\nname = "y"\ndtype = "f32"\nshape = ["N"]\nrole = "inout"\n'
            '[[args]]\nname = "n"\ndtype = "i32"\nvalue = "N"\n'
            "[validate]\nreference = { config = { BLOCK = 32 } }\n[measure]\nrep = 3\nfinals = 0\nrace = false\n"
            '[objective]\nminimize = "BLOCK"\n'
        )
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            results = xtune.tune_cases(spec / "k.toml", executor=executor, keep=False, **HOST)
        self.assertEqual([each.problem for each in results], [{"N": 32}, {"N": 48}])
        self.assertEqual([each.best.config for each in results], [{"BLOCK": 32}] * 2)

    def test_several_kinds_of_devices(self):
        """The second thread's device has another name. Jobs of a kind that no free worker has are offered again."""
        (self.place / "killed").touch()
        here, kinds = threading.local(), iter("AB")

        def kind_of_thread():
            here.kind = getattr(here, "kind", None) or next(kinds)
            return here.kind

        self.check_kinds(concurrent.futures.ThreadPoolExecutor(2), kind_of_thread)

    def test_several_kinds_of_devices_that_answer_at_once(self):
        (self.place / "killed").touch()
        self.check_kinds(Now(), functools.partial(next, itertools.cycle("AB")), workers=2)

    def check_kinds(self, executor, next_kind, **more):
        describe = xtune._native.describe_target

        def described(*arguments):
            kind, target = describe(*arguments)
            facts, own = json.loads(target), next_kind()
            facts["device"]["name"] += own
            return own + kind, json.dumps(facts)

        xtune._native.describe_target = described
        self.addCleanup(setattr, xtune._native, "describe_target", describe)
        with executor:
            results = xtune.tune_cases(**definition(executor=executor, **more))
        self.assertEqual(len({each.device.name for each in results}), 2)
        for each in results:
            self.assertEqual(answer(each), answer(self.local))

    @unittest.skipUnless("XTUNE_EMULATED_HIP" in os.environ, "the emulator of AMD GPUs was not built")
    def test_two_architectures_and_a_driver_without_a_device(self):
        (self.place / "killed").touch()
        changes = {"backend": "hip", "params": {"UNROLL": [3], "BLOCK": [32, 64]}, "store": self.place, "keep": True}
        with TwoNodes() as executor:
            results = xtune.tune_cases(**definition(executor=executor, **changes))
            again = xtune.tune_cases(**definition(executor=executor, **changes))
        self.assertEqual({each.device.arch for each in results}, {"gfx942-emulated", "gfx90a-emulated"})
        self.assertEqual([(each.counts, each.from_store) for each in results], [({"ok": 2}, 0)] * 2)
        self.assertEqual([each.from_store for each in again], [2] * 2)
        for each in results:
            self.assertEqual(each.best.config, self.local.best.config)
            self.assertIn("saxpy", each.source)

    def test_stop(self):
        (self.place / "killed").touch()
        stop = threading.Event()

        class Stopping(Now):
            """Stops the search with its first batch, which never ends."""

            def submit(self, function, *arguments):
                if self.error is None:
                    self.error = "asked"
                    return Now().submit(function, *arguments)
                stop.set()
                return concurrent.futures.Future()

        result = xtune.tune(**definition(executor=Stopping(), stop=stop))
        self.assertTrue(result.interrupted)
        self.assertEqual(result.measurements, [])
        stop.clear()
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                xtune.tune(**definition(executor=executor, on_measurement=lambda _: 1 / 0))
            stop.set()
            with self.assertRaises(xtune.StoppedError):
                xtune.tune(**definition(executor=executor, stop=stop))


class Mistakes(unittest.TestCase):
    def refused(self, text, error=xtune.InvalidArgumentError, executor=None, **changes):
        with self.assertRaisesRegex(error, text):
            xtune.tune(**definition(executor=executor or Now(), **changes))

    def test_executors(self):
        self.refused("expected a concurrent.futures.Executor, not 3", executor=3)
        self.refused("expected a concurrent.futures.Executor", executor=concurrent.futures.ThreadPoolExecutor)
        self.refused("workers.* at least 0", workers=-1)
        self.refused("isolation is 'process'", isolation="in_process")
        executor = concurrent.futures.ThreadPoolExecutor(1)
        executor.shutdown()
        self.refused("takes no more jobs: RuntimeError: .*shutdown", xtune.UnavailableError, executor)
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "no setting 'executor'"):
            xtune.load(xtune.Tunable("k"), tuning={"executor": 3})

    def test_kernels_that_cannot_be_sent(self):
        lock = threading.Lock()
        self.refused("cannot be sent.*lock", reference=lambda x, y, a: lock and a * x + y)
        self.refused("includes files .include_dirs.: pass a spec", include_dirs=["."])
        with self.assertRaisesRegex(xtune.InvalidArgumentError, "pass the path of its spec, or its source"):
            xtune.tune(xtune.Tunable("saxpy", SAXPY), executor=Now(), **HOST)
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "a.h").touch()
            (pathlib.Path(place) / "k.cu").write_text('#include "a.h"\n' + SAXPY)
            self.refused("includes files .a.h.: pass a spec", kernel=pathlib.Path(place) / "k.cu")

    def test_workers(self):
        self.refused(
            f"workers need xtune {xtune.__version__} and .*: ModuleNotFoundError: No module named 'xtune'",
            xtune.UnavailableError,
            Now(ModuleNotFoundError("No module named 'xtune'")),
        )
        with self.assertRaisesRegex(xtune.UnsupportedError, f"has xtune {xtune.__version__}, and the driver has 0.0.1"):
            _remote.work("0.0.1", b"")
        self.refused("no worker can measure: OSError: gone", xtune.UnavailableError, Now(OSError("gone")))
        self.refused("spec", xtune.InvalidSpecError, Now(xtune.InvalidSpecError("the spec is wrong")))

    def test_an_executor_that_closes(self):
        """What was measured until then is kept."""

        class Closing(Now):
            jobs = 3  # two questions and a batch of two configurations

            def submit(self, function, *arguments):
                self.jobs -= 1
                if self.jobs < 0:
                    raise RuntimeError("closed")
                return super().submit(function, *arguments)

        with tempfile.TemporaryDirectory() as store:
            kept = {"store": store, "keep": True, "workers": 2}
            self.refused("takes no more jobs: RuntimeError: closed", xtune.UnavailableError, Closing(), **kept)
            self.assertEqual(xtune.tune(**definition(executor=Now(), **kept)).from_store, 2)

    def test_workers_that_all_fail_later(self):
        class Later(Now):
            def submit(self, function, *arguments):
                future = super().submit(function, *arguments)
                self.error = OSError("gone")
                return future

        self.refused(r"7 jobs in a row have failed: OSError: gone", xtune.UnavailableError, Later(), workers=1)


class Engines(unittest.TestCase):
    """Real ones: in separate programs, whose last line is the answer."""

    SCRIPT = """
import json, os
from test_executors import definition, xtune
if __name__ == "__main__":
    os.environ["XTUNE_TEST_DRIVER"] = str(os.getpid())
"""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="xtune-engines-")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.local = xtune.tune(**definition())

    def run_script(self, text, *words):
        script = self.place / "driver.py"
        script.write_text(self.SCRIPT + text)
        environment = {**os.environ, "XTUNE_TEST_MARK": str(self.place / "killed")}
        environment.pop("XTUNE_TEST_DRIVER")
        environment["PYTHONPATH"] += ":" + os.path.dirname(os.path.abspath(__file__))
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.run(
            [*words, str(script)], env=environment, capture_output=True, text=True, timeout=240, cwd=self.place
        )

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(found, [self.local.best.config, self.local.counts])

    def test_dask(self):
        try:
            import distributed  # noqa: F401
        except ImportError:
            self.skipTest("needs Dask [apt: python3-distributed]")
        done = self.run_script(
            """
    import distributed
    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            result = xtune.tune(**definition(executor=client.get_executor(), workers=4))
    print(json.dumps([result.best.config, result.counts]))
""",
            sys.executable,
        )
        self.check(done)
        self.assertTrue((self.place / "killed").exists())

    def test_mpi(self):
        """A lost rank ends an MPI job; the next job goes on from the store."""
        try:
            import mpi4py  # noqa: F401
        except ImportError:
            self.skipTest("needs mpi4py [apt: python3-mpi4py]")
        if shutil.which("mpiexec") is None:
            self.skipTest("needs mpiexec [apt: openmpi-bin]")
        text = """
    from mpi4py.futures import MPIPoolExecutor
    with MPIPoolExecutor() as executor:
        result = xtune.tune(**definition(executor=executor, workers=4, store="store", keep=True))
    print(json.dumps([result.best.config, result.counts]))
"""
        words = ["mpiexec", "--oversubscribe", "-n", "5", sys.executable, "-m", "mpi4py.futures"]
        self.assertNotEqual(self.run_script(text, *words).returncode, 0)
        self.assertTrue((self.place / "killed").exists())
        self.check(self.run_script(text, *words))


if __name__ == "__main__":
    unittest.main()
