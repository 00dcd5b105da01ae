# SPDX-License-Identifier: Apache-2.0
"""The methods of a Kernel besides its call, which is C++."""
from typing import Any, List, Mapping, Optional, Sequence

from xtune import _checks, _native
from xtune._arrays import facts_of
from xtune.errors import InvalidArgumentError
from xtune.results import Choice, Config, KernelArgument, Timing, Value

Kernel = _native.Kernel


def _sizes(problem: Optional[Mapping[str, Value]], sizes: Config) -> Config:
    """Sizes as a dict, as keywords, or both. The extension checks them."""
    return sizes if problem is None else {**_checks.mapping("problem", problem), **sizes}


class _Methods:
    """A tuned kernel, called like a function: c = kernel(a, b).

    Arrays that every call needs go by position, the rest by name: other arrays, scalars, names of
    the problem, out=. Sizes, types and layouts follow from the arrays; what is not passed has the
    spec's value; outputs are made and returned. A call may also pass all of the kernel's arguments
    in its order, kernel(a, b, c, m, n, k), and then returns None.

    Arrays are passed by NumPy (backend host), PyTorch, CuPy, Numba, JAX or anything with
    __cuda_array_interface__ or __dlpack__; they must be contiguous in C order and have the dtype of
    the argument. Arguments may be given by name. stream: the address of a CUDA or HIP stream, or a
    stream of PyTorch, CuPy or Numba; without it the current stream of PyTorch or CuPy, if their
    arrays are passed, else the default stream. On a GPU a call does not wait for the kernel. Raises
    InvalidArgumentError for arguments that do not fit, UnavailableError if the launch fails, and
    NothingValidError if no configuration runs here.

    Made by xtune.load, Result.kernel and CompiledConfig.kernel.
    """

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._facts()[0]

    @property
    def backend(self) -> str:
        """ "cuda", "hip" or "host"."""
        return self._facts()[1]

    @property
    def arguments(self) -> List[KernelArgument]:
        """The arguments of a call, in its order."""
        return self._arguments()

    def for_problem(self, /, problem: Optional[Mapping[str, Value]] = None, **sizes: Value) -> Kernel:
        """The same kernel with these problem sizes, which are then not taken from scalars. Keep it:
        making it costs more than a call."""
        return self._for_problem(_sizes(problem, sizes))

    def choice(self, /, problem: Optional[Mapping[str, Value]] = None, **sizes: Value) -> Choice:
        """The configuration that a call would run for this problem. Loads nothing."""
        return self._choice(_sizes(problem, sizes))

    @_checks.checked
    def digest(self, problems: Sequence[Mapping[str, Value]] = ()) -> str:
        """A SHA-256 of the bundle and of the choices for these problems. Processes that get the
        same one run the same configurations, if the kernel is frozen."""
        return self._digest([dict(each) for each in problems])

    def prepare(self, /, problem: Optional[Mapping[str, Value]] = None, **sizes: Value) -> None:
        """Prepares this problem as the first call on it would, but launches nothing: for example
        before a CUDA graph is captured."""
        self._prepare(_sizes(problem, sizes))

    def wait(self) -> None:
        """Waits until no tuning in the background remains."""
        self._wait()

    @_checks.checked
    def set_constant(self, name: str, data: Any) -> None:
        """Gives a constant of the spec its contents for all later calls: an array on the host, which is copied."""
        facts = facts_of(data, name)
        if facts.host is None:
            raise InvalidArgumentError(f"'{name}' is an array on a GPU: pass a copy on the host")
        self._set_constant(name, facts.dtype, facts.host)

    @_checks.checked
    def benchmark(
        self,
        *args: Any,
        cold: bool = True,
        samples: int = 30,
        min_sample_ms: float = 1.0,
        max_seconds: float = 10.0,
        **named: Any,
    ) -> Timing:
        """Times the kernel with the arguments of a call, and returns a Timing in milliseconds.

        cold=True: as tune() measures, to compare configurations: single launches after the caches
        were flushed, by the device's clock, on a stream of the library's own, once the stream of
        the call has ended. cold=False: as an application launches: batches of at least
        min_sample_ms, with warm caches, by the wall clock. samples: at most this many; max_seconds:
        none begins later. Arrays that the kernel writes change with every launch, and results are
        not compared.
        """
        count = _checks.whole_number("samples", samples)
        given = (*args, *named.values())
        return self._benchmark(given, tuple(named), cold, count, min_sample_ms, max_seconds)

    def __repr__(self) -> str:
        def shown(each: KernelArgument) -> str:
            extents = f"[{', '.join(each.shape)}]" if each.is_buffer else ""
            return f"{each.name}: {each.dtype}{extents}{' (written)' if each.is_written else ''}"

        return f"<xtune.Kernel {self.name}({', '.join(map(shown, self.arguments))}) on {self.backend}>"

    # Nothing changes it, so copies share it.
    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self


for _name, _member in vars(_Methods).items():
    if callable(_member) or isinstance(_member, property) or _name == "__doc__":
        setattr(Kernel, _name, _member)
