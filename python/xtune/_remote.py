# SPDX-License-Identifier: Apache-2.0
"""tune(executor=...): the search runs here, and workers of a concurrent.futures.Executor measure (docs/executors.md).

A job carries the kernel and, for each kind of device, a batch of configurations. The worker measures the batch of its
own kind as tune(configs=...) does, in a store that is removed afterwards, and returns its records and binaries.
"""
import concurrent.futures
import io
import os
import pathlib
import pickle
import platform
import queue
import re
import shutil
import tempfile
import threading
import time
import zipfile
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from xtune import _ending, _native, _tuning
from xtune.errors import Error, InvalidArgumentError, StoppedError, UnavailableError, UnsupportedError
from xtune.tunable import Tunable

_LOSSES = 3  #: after which a configuration, or finals, are given up
_WORKERS = 8  #: where an executor does not say how many it has
#: Settings that mean the same in a worker.
_SENT = ("backend", "compiler", "devices", "jobs", "seed", "max_copy_bytes")


def parcel_of(kernel: Any, definition: Mapping[str, Any], tunable: Tunable) -> bytes:
    """The kernel for other machines. Raises InvalidArgumentError for one that cannot be sent."""
    if isinstance(kernel, Tunable):
        _refuse("pass the path of its spec, or its source with its definition as keywords, not a Tunable")
    if tunable._device_arrays:
        _refuse(f"'{next(iter(tunable._device_arrays))}' is an array on a GPU: pass a copy on the host")
    if not _tuning._is_source(kernel):
        return pickle.dumps(("spec", *_native.pack_spec(kernel)))
    folder = None
    if _tuning._is_source_file(kernel):
        folder = pathlib.Path(kernel).parent
        kernel = pathlib.Path(kernel).read_text(encoding="utf-8", errors="surrogateescape")
    includes = [each for each in re.findall(r'^\s*#\s*include\s*"([^"]+)"', kernel, re.M)]
    beside = [each for each in includes if folder is not None and (folder / each).exists()]
    if beside or definition.get("include_dirs"):
        _refuse(f"its source includes files ({', '.join(beside) or 'include_dirs'}): pass a spec, which names them")
    try:
        import cloudpickle as pickler  # also sends functions that are defined in a script, and lambdas
    except ImportError:
        pickler = pickle  # type: ignore[misc]
    try:
        return pickler.dumps(("source", kernel, dict(definition)))
    except Exception as error:
        _refuse(
            f"{type(error).__name__}: {error}. Define functions at the top of a module that workers import too, or "
            "install cloudpickle here and there"
        )


def _refuse(why: str) -> Any:
    raise InvalidArgumentError(f"executor: this kernel cannot be sent to other processes: {why}")


def work(version: str, job: bytes) -> Tuple[str, str, bytes, bytes]:
    """In a worker: measures the batch of its kind of device, if there is one. Returns its kind and target, the records,
    and a zip archive of what was compiled; both are empty if nothing was measured."""
    if version != _native.version():
        raise UnsupportedError(
            f"the worker on {platform.node()} has xtune {_native.version()}, and the driver has {version}: install the "
            "same version for both"
        )
    parcel, sent, offers = pickle.loads(job)
    kind_of_parcel, *parts = pickle.loads(parcel)
    with tempfile.TemporaryDirectory(prefix="xtune-") as place:
        root = pathlib.Path(place)
        if kind_of_parcel == "spec":
            name, files = parts
            for path, contents in files.items():
                (root / "spec" / path).parent.mkdir(parents=True, exist_ok=True)
                (root / "spec" / path).write_bytes(contents)
            tunable = Tunable.from_file(root / "spec" / name)
        else:
            tunable = Tunable(source=parts[0], **parts[1])
        settings = {
            **_tuning.tune_settings_of({}, "executor", ""),
            **sent,
            "transfer": False,
            "seconds": 1e9,
            "store": root / "store",
        }
        kind, target = _native.describe_target(tunable._native, _tuning._settings(tunable, **settings))
        if kind not in offers:
            return kind, target, b"", b""
        problem, configs, finals = offers[kind]
        native = _tuning._settings(tunable, **{**settings, "problem": problem, "configs": configs})
        native["compare"] = finals
        _ending.run(_native.tune, tunable._native, settings=native)
        return (kind, target, *_contents(root / "store"))


def _contents(store: pathlib.Path) -> Tuple[bytes, bytes]:
    """The record files of a store, one after the other, and an archive of the rest."""
    records, rest = [], io.BytesIO()
    with zipfile.ZipFile(rest, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(each for each in store.rglob("*") if each.is_file()):
            name = path.relative_to(store)
            if name.parts[0] == "records":
                records.append(path.read_bytes())
            elif name.parts[0] in ("artifacts", "sources", "manifests"):
                archive.write(path, name)
    return b"".join(records), rest.getvalue()


class _Batch(NamedTuple):
    """Configurations of one search, on their way to a worker."""

    kind: str
    id: int
    which: List[int]  #: the numbers of the configurations in the batch of that id
    problem: Mapping[str, Any]
    configs: List[Mapping[str, Any]]
    finals: bool
    losses: int


class _Pool:
    """The jobs of all searches of a call. Any thread may use it."""

    def __init__(self, executor: Any, workers: int, parcel: bytes, sent: Mapping[str, Any]):
        self._executor, self.workers, self._parcel, self._sent = executor, workers, parcel, sent
        self._lock = threading.RLock()
        self._ended: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._jobs: Dict[Any, List[_Batch]] = {}  #: by future
        self._questions: Set[Any] = set()  #: futures of jobs without a batch, which only ask for the device
        self._waiting: Dict[str, Deque[_Batch]] = {}  #: by kind
        self._answers: Dict[str, List[Tuple]] = {}
        self._taken: Dict[str, List[str]] = {}  #: directories of answers that a search has read
        self._folder = tempfile.TemporaryDirectory(prefix="xtune-")
        self._unpacked = 0
        self._losses_in_a_row = self._refusals = 0
        self.last = ""  #: why the last job was lost
        self._not_before = 0.0  #: no job is submitted earlier, by time.monotonic()
        self.targets: Dict[str, str] = {}  #: by kind, the first that answered first
        self._closed: Optional[UnavailableError] = None  #: the executor takes no more jobs
        self.failure: Optional[BaseException] = None  #: ends all searches
        self.on_kind: Callable[[str], None] = lambda kind: None

    def first_kind(self, stop: Any) -> str:
        """Asks as many workers as there may be for their devices, and returns the first answer."""
        for attempt in range(_LOSSES):
            for _ in range(self.workers):
                self._submit([])
            while self.has_questions():
                if self.targets:
                    return next(iter(self.targets))
                if stop is not None and stop.is_set():
                    raise StoppedError("stopped before a worker of the executor answered")
                concurrent.futures.wait(self._questions, timeout=0.1, return_when="FIRST_COMPLETED")
            if self.targets:
                return next(iter(self.targets))
        raise UnavailableError(f"executor: no worker can measure: {self.last}")

    def has_questions(self) -> bool:
        with self._lock:
            self._take_ended()
            return bool(self._questions)

    def send(self, batch: _Batch) -> None:
        with self._lock:
            self._waiting.setdefault(batch.kind, deque()).append(batch)  # answers() submits it

    def answers(self, kind: str) -> List[Tuple]:
        with self._lock:
            for folder in self._taken.pop(kind, []):
                shutil.rmtree(folder, ignore_errors=True)
            try:
                self._pump()
            except Exception:
                if not self._answers.get(kind):  # what has come is kept first; the next call fails
                    raise
            answers = self._answers.pop(kind, [])
            self._taken[kind] = [each[3] for each in answers if each[3]]
            return answers

    def cancel(self, kind: str) -> None:
        """Forgets the batches of a kind; those that are measured now go on and are ignored."""
        with self._lock:
            self._waiting.pop(kind, None)
            self._answers.pop(kind, None)
            for future, batches in self._jobs.items():
                batches[:] = [each for each in batches if each.kind != kind]
                if not batches:
                    future.cancel()

    def close(self) -> None:
        for kind in list(self.targets):
            self.cancel(kind)
        self._folder.cleanup()

    def _pump(self) -> None:
        if self.failure is not None:
            raise self.failure
        try:
            self._take_ended()
            while self._closed is None and len(self._jobs) < self.workers and time.monotonic() >= self._not_before:
                batches = [waiting.popleft() for waiting in self._waiting.values() if waiting]
                if not batches:
                    break
                try:
                    self._submit(batches)
                except UnavailableError as error:
                    self._closed = error
            if self._closed is not None and not self._jobs:  # what still ran has been kept
                raise self._closed
        except Exception as error:
            self.failure = error
            raise

    def _submit(self, batches: List[_Batch]) -> None:
        offers = {each.kind: (each.problem, each.configs, each.finals) for each in batches}
        try:
            future = self._executor.submit(work, _native.version(), pickle.dumps((self._parcel, self._sent, offers)))
        except Exception as error:
            raise UnavailableError(
                f"the executor takes no more jobs: {type(error).__name__}: {error}. What was measured is in the store: "
                "the same call with a new executor goes on from there"
            ) from error
        self._jobs[future] = batches
        if not batches:
            self._questions.add(future)
        future.add_done_callback(self._ended.put)

    def _take_ended(self) -> None:
        while True:
            try:
                future = self._ended.get_nowait()
            except queue.Empty:
                return
            self._questions.discard(future)
            self._take(future, self._jobs.pop(future))

    def _take(self, future: Any, batches: List[_Batch]) -> None:
        try:
            kind, target, records, files = future.result()
        except (ImportError, AttributeError) as error:
            raise UnavailableError(
                f"executor: workers need xtune {_native.version()} and the modules of the kernel's functions: "
                f"{type(error).__name__}: {error}"
            ) from error
        except Exception as error:
            if isinstance(error, Error) and error.kind not in ("unavailable", "io"):
                raise
            return self._lose(batches, error)
        if kind not in self.targets:
            self.targets[kind] = target
            self.on_kind(kind)
        for each in batches:
            if each.kind != kind:
                self._waiting.setdefault(each.kind, deque()).appendleft(each)
        mine = [each for each in batches if each.kind == kind]
        if batches and not mine:  # the engine chooses: later another worker may be free
            self._refusals += 1
            self._not_before = time.monotonic() + 0.05 * 2 ** min(self._refusals, 5)
        for each in mine:
            self._refusals = self._losses_in_a_row = 0
            self._answer(each, records, self._unpack(files))

    def _unpack(self, files: bytes) -> str:
        self._unpacked += 1
        folder = os.path.join(self._folder.name, str(self._unpacked))
        with zipfile.ZipFile(io.BytesIO(files)) as archive:
            archive.extractall(folder)
        return folder if os.path.isdir(folder) else ""

    def _answer(self, batch: _Batch, records: bytes, folder: str, lost: str = "") -> None:
        self._answers.setdefault(batch.kind, []).append((batch.id, batch.which, records, folder, lost))

    def _lose(self, batches: List[_Batch], error: BaseException) -> None:
        """The batches of a job that has no result wait again, one configuration each: one of them may be the cause."""
        self.last = f"{type(error).__name__}: {error}"
        self._losses_in_a_row += bool(batches)
        if self._losses_in_a_row > _LOSSES * (self.workers + 1):
            raise UnavailableError(f"executor: {self._losses_in_a_row} jobs in a row have failed: {self.last}")
        for each in batches:
            losses = each.losses + 1
            pieces = [each._replace(losses=losses)]
            if not each.finals:
                pieces = [
                    each._replace(which=[which], configs=[config], losses=losses)
                    for which, config in zip(each.which, each.configs)
                ]
            if losses < _LOSSES:
                self._waiting.setdefault(each.kind, deque()).extendleft(reversed(pieces))
            else:
                for piece in pieces:
                    self._answer(piece, b"", "", f"lost {losses} times with its worker, at last by {self.last}")


class _Devices:
    """What the library asks of the workers with one kind of device."""

    def __init__(self, pool: _Pool, kind: str):
        self._pool, self._kind = pool, kind

    def target(self) -> str:
        return self._pool.targets[self._kind]

    def send(self, id: int, problem: Mapping[str, Any], configs: List[Mapping[str, Any]], finals: bool) -> None:
        self._pool.send(_Batch(self._kind, id, list(range(len(configs))), problem, configs, finals, 0))

    def answers(self) -> List[Tuple]:
        return self._pool.answers(self._kind)

    def cancel_all(self) -> None:
        self._pool.cancel(self._kind)


def worker_count(executor: Any, workers: int) -> int:
    """How many jobs it gets at once; workers: what the user says, or 0. Raises InvalidArgumentError."""
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise InvalidArgumentError(f"executor: expected a concurrent.futures.Executor, not {executor!r}")
    own = getattr(executor, "_max_workers", None)
    return workers or (own if isinstance(own, int) and own > 0 else _WORKERS)


def searches(
    executor: Any,
    workers: int,
    parcel: bytes,
    settings: Mapping[str, Any],
    search: Callable[[Callable[[Any], None], bool], Any],
) -> List[Any]:
    """A result of each kind of device, the first that answered first. search(connect, is_first) makes one; connect gives
    its settings the devices. Those of further kinds run in threads."""
    sent = {name: settings[name] for name in _SENT}
    pool = _Pool(executor, workers, parcel, sent)
    results: Dict[str, Any] = {}
    threads: List[threading.Thread] = []

    def run(kind: str, is_first: bool) -> None:
        results[kind] = search(lambda native: native.update(remote=(_Devices(pool, kind), pool.workers)), is_first)

    def run_beside(kind: str) -> None:
        try:
            run(kind, False)
        except BaseException as error:
            pool.failure = pool.failure or error

    def start(kind: str) -> None:
        threads.append(threading.Thread(target=run_beside, args=(kind,), name=f"xtune {kind}"))
        threads[-1].start()

    try:
        first = pool.first_kind(settings["stop"])
        pool.on_kind = start
        for kind in [each for each in pool.targets if each != first]:  # which answered at the same time
            start(kind)
        run(first, True)
        while pool.has_questions() or any(each.is_alive() for each in threads):
            time.sleep(0.05)
            if settings["stop"] is not None and settings["stop"].is_set() and not threads:
                break
        if pool.failure is not None:
            raise pool.failure
        return [results[kind] for kind in pool.targets if kind in results]
    except BaseException as error:
        pool.failure = pool.failure or StoppedError(f"another search of the call ended: {error}")
        for each in threads:
            each.join()
        raise
    finally:
        pool.close()
