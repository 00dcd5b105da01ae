#!/usr/bin/env python3
"""Tunes the kernels of kernels/ and compares them with PyTorch and the vendor's libraries, on an NVIDIA GPU.

  benchmarks/kernels.py --xtune build/dev/src/cli/xtune [--only softmax] [--seconds 10] [--save results.json]
  benchmarks/kernels.py --xtune build/dev/src/cli/xtune --draw 1 --seconds 8 --first
  benchmarks/kernels.py --from results.json [--from more.json] --plot DIRECTORY

Each line has the time of the best configuration and of the others in microseconds, the ratio to the fastest of the
others (above 1: xtune's kernel is faster), and two floors: the bytes that must move at the speed of a copy, and the
operations at the data sheet's peak. Needs PyTorch with CUDA; the products of gemm_hopper also need bench_gemm_cublas,
which is built where the CUDA toolkit is installed. With --from nothing is measured, and neither is needed."""
import argparse
import dataclasses
import importlib
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "kernels"))
import common
import gemm
import picture

# The modules of kernels/, and the kernels that each measures.
GROUPS = {
    "gemm": ["gemm_hopper", "gemm", "gemm_f16"],
    "grouped": ["gemm_grouped"],
    "attention": ["attention_hopper", "attention_hopper_variable", "attention_decode"],
    "sparse_attention": ["sparse_attention"],
    "delta": ["chunk_delta_h", "gated_delta"],
    "rows": ["softmax", "layernorm", "rmsnorm", "reduce_axis", "reduction", "transpose", "gemv", "hadamard"],
    "stencils": ["conv2d", "stencil_2d", "stencil_3d", "spmv", "histogram", "nbody"],
}
# Groups whose modules draw cases (--draw), and which kernels of them do.
DRAWN = {"gemm": ["gemm_hopper"], "attention": ["attention_hopper", "attention_decode"]}
KERNELS = [kernel for kernels in GROUPS.values() for kernel in kernels]


@dataclasses.dataclass
class Session:
    """Results of one device."""

    device: str
    copy_GB_per_s: float
    results: list

    def save(self, path):
        write(path, json.dumps(dataclasses.asdict(self), indent=1) + "\n")

    def add(self, result):
        """In the place of an earlier result for the same kernel and problem, if there is one; else after the other results
        of the kernel, in the order of GROUPS."""
        for i, known in enumerate(self.results):
            if (known.kernel, known.problem) == (result.kernel, result.problem):
                self.results[i] = result
                break
        else:
            self.results.append(result)
        self.results.sort(key=lambda one: KERNELS.index(one.kernel) if one.kernel in KERNELS else len(KERNELS))


def write(path, text):
    try:
        pathlib.Path(path).write_text(text)
    except OSError as error:
        raise SystemExit(f"error: {path}: {error.strerror}") from None


def read(path):
    """What Session.save has written."""
    try:
        saved = common.checked(json.loads(pathlib.Path(path).read_text()), "the file", dict)
        results = [
            common.Result.of(result, f"results[{i}]")
            for i, result in enumerate(common.member(saved, "the file", "results", list))
        ]
        speed = common.member(saved, "the file", "copy_GB_per_s", common.Positive)
        return Session(common.member(saved, "the file", "device", str), speed, results)
    except OSError as error:
        problem = error.strerror
    except RecursionError:
        problem = "values are nested too deep"
    except ValueError as error:
        problem = str(error)
    raise SystemExit(f"error: {path}: {problem}. Name a file that --save has written")


def merged(paths):
    """The results of several files of one device; of two for the same kernel and problem the later one."""
    session = read(paths[0])
    for path in paths[1:]:
        more = read(path)
        if more.device != session.device:
            raise SystemExit(
                f"error: {path}: results of {more.device}, and {paths[0]} has those of {session.device}. Draw one picture for each"
            )
        for result in more.results:
            session.add(result)
    return session


def wanted(options, kernel):
    names = set(options.only or ())
    return not names or kernel in names or any(kernel in GROUPS[group] for group in names & set(GROUPS))


def measure(options):
    """Measures, prints each result, and saves after each."""
    try:
        import torch
    except ImportError as error:
        raise SystemExit(
            f"error: measuring needs PyTorch with CUDA ({error}). --from FILE.json shows saved results without it"
        ) from None
    if not torch.cuda.is_available():
        raise SystemExit(
            "error: measuring needs an NVIDIA GPU, and PyTorch finds none. --from FILE.json shows saved results without one"
        )
    session = Session(torch.cuda.get_device_name(), common.copy_GB_per_s(torch), [])
    print_head(session)
    for group, kernels in GROUPS.items():
        if not any(wanted(options, kernel) for kernel in kernels):
            continue
        module = importlib.import_module(group)
        drawn = group in DRAWN and options.draw is not None
        for case in module.drawn(options.draw) if drawn else module.CASES:
            if not wanted(options, module.kernel_of(case)):
                continue
            result = module.measure(torch, options, case)
            session.add(result)
            print(common.row(result, session.copy_GB_per_s), flush=True)
            torch.cuda.empty_cache()
            if options.save:
                session.save(options.save)
    return session


def print_head(session):
    print(f"{session.device}; a copy reads and writes {session.copy_GB_per_s:.0f} GB/s\n{common.header()}", flush=True)


def print_means(results, firsts):
    for place, what in enumerate(("the first configuration", "the best of the first 8")):
        if own := [pair[place] for pair in firsts or () if pair[place]]:
            mean = math.exp(sum(map(math.log, own)) / len(own))
            print(f"{what}: geometric mean {mean:.3f} of the search's best, minimum {min(own):.3f} of {len(firsts)}")
    ratios = {}
    for result in results:
        if result.ratio():
            odd = result.kernel == "gemm_hopper" and not gemm.aligned(result.problem)
            ratios.setdefault(result.kernel + (", unaligned" if odd else ""), []).append(result.ratio())
    for name, own in ratios.items():
        mean = math.exp(sum(map(math.log, own)) / len(own))
        print(f"{name}: geometric mean {mean:.3f}, minimum {min(own):.3f} of {len(own)}")


def plot(session, path):
    compared = [result for result in session.results if result.ratio()]
    if not compared:
        raise SystemExit(
            "error: --plot: no result has both a valid configuration and the time of a library, so there is no ratio to draw"
        )
    for kernel, drawn in picture.drawings(compared, session.device, session.copy_GB_per_s).items():
        write(pathlib.Path(path) / f"{kernel}.svg", drawn)


def seconds(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", default=str(common.ROOT / "build/dev/src/cli/xtune"), help="the program")
    parser.add_argument(
        "--gemm",
        default=str(common.ROOT / "build/dev/benchmarks/bench_gemm_cublas"),
        help="the program that measures gemm_hopper beside cuBLASLt",
    )
    parser.add_argument("--seconds", type=seconds, default=10, help="limit the tuning of each case")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(dict.fromkeys([*GROUPS, *(kernel for kernels in GROUPS.values() for kernel in kernels)])),
        metavar="NAME",
        help="measure only a kernel, or a group: " + ", ".join(GROUPS),
    )
    parser.add_argument(
        "--draw",
        type=int,
        metavar="SEED",
        help="measure 40 random products by gemm_hopper, whose sizes follow from SEED, or with --only attention, 16 cases "
        "of attention",
    )
    parser.add_argument(
        "--first",
        action="store_const",
        const=[],
        help="print, too, how good the first configurations are, beside the best of each search",
    )
    parser.add_argument("--store", help="use this store, as in xtune run")
    parser.add_argument("--save", metavar="FILE.json", help="write the results to this file")
    parser.add_argument(
        "--from",
        dest="saved",
        action="append",
        metavar="FILE.json",
        help="measure nothing, and take the results of this file (may be repeated)",
    )
    parser.add_argument("--plot", metavar="DIRECTORY", help="draw the ratios, a file for each kernel")
    options = parser.parse_args()
    for folder in (options.save and pathlib.Path(options.save).absolute().parent, options.plot):
        if folder and not pathlib.Path(folder).is_dir():  # before measuring, which takes long
            raise SystemExit(f"error: {folder}: the directory does not exist")
    if options.draw is not None:
        options.only = options.only or ["gemm"]
        if options.saved or not set(options.only) <= set(DRAWN):
            parser.error(
                f"--draw chooses the kernels and measures them: leave out --from, and --only but {', '.join(DRAWN)}"
            )
        options.only = [kernel for group in options.only for kernel in DRAWN[group]]
    if options.saved:
        session = merged(options.saved)
        session.results = [result for result in session.results if wanted(options, result.kernel)]
        if not session.results:
            raise SystemExit(
                f"error: no results{' of ' + ', '.join(options.only) if options.only else ''} in {', '.join(options.saved)}"
            )
        print_head(session)
        for result in session.results:
            print(common.row(result, session.copy_GB_per_s))
        if options.save:
            session.save(options.save)
    else:
        session = measure(options)
    print_means(session.results, options.first)
    if options.plot:
        plot(session, options.plot)


if __name__ == "__main__":
    sys.exit(main())
