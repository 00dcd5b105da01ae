# SPDX-License-Identifier: Apache-2.0
"""Tuned kernels as custom operators of PyTorch 2.4 or newer.

    gemm = xtune.torch.op("mylib::gemm", "gemm", "(Tensor a, Tensor b) -> Tensor")
    c = gemm(a, b)  # or torch.ops.mylib.gemm(a, b); also within torch.compile
"""
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

import xtune
from xtune._arrays import TORCH_NAMES
from xtune.errors import InvalidArgumentError

_DTYPES = {getattr(torch, theirs): ours for ours, theirs in TORCH_NAMES.items() if hasattr(torch, theirs)}


def op(
    name: str,
    spec: Any,
    schema: str,
    *,
    backward: Optional[Callable] = None,
    words: Optional[Dict[str, Any]] = None,
    **settings: Any,
) -> Callable:
    """Registers a custom operator, and returns it.

    name: "mylib::gemm". spec: what xtune.load takes with these settings, or a kernel that it
    returned. schema: the operator's, "(Tensor a, Tensor b, float alpha=1.0) -> Tensor": arguments
    have the names of the spec's arguments, or of words of its problem, in any case of letters;
    other tensors stand for the inputs that every call needs, in their order. A tensor that the
    kernel changes in place is "Tensor(a!)"; such a call returns nothing: "-> ()". words: of the
    problem, for all calls.

    Shapes and types of the outputs follow from the inputs without a launch, so that torch.compile
    traces the operator without a break. Each size that it meets is another problem: dynamic shapes
    become fixed ones.

    backward: called with the gradients of the outputs, which are contiguous, and the operator's
    arguments; returns the gradient of each argument, None where there is none: lambda grad, a, b:
    (gemm(grad, b.t()), gemm(a.t(), grad)).

    Before a CUDA graph is captured, call the operator once with arguments of the same shapes: the
    first call on a problem loads its kernel. Raises InvalidArgumentError for a schema that does not
    fit the kernel.
    """
    kernel = spec if isinstance(spec, xtune.Kernel) else xtune.load(spec, **settings)
    call = _Call(name, kernel, torch._C.parse_schema(name + schema), dict(words or {}))
    torch.library.define(name, schema)
    torch.library.impl(name, "cpu" if kernel.backend == "host" else "cuda")(call)
    torch.library.register_fake(name)(call.fake)
    if backward is not None:
        torch.library.register_autograd(name, _derivative(backward), setup_context=_keep_inputs)
    namespace, _, operator = name.partition("::")
    return getattr(getattr(torch.ops, namespace), operator).default


class _Call:
    """The kernel under the operator's argument names."""

    def __init__(self, name: str, kernel: Any, schema: Any, words: Dict[str, Any]):
        self._kernel, self._words = kernel, words
        known = {argument[0].lower(): argument for argument in kernel._call_arguments()}
        names = {word.lower(): word for word in kernel._problem_names()}
        required = [argument[0] for argument in known.values() if argument[3]]
        outputs = [argument for argument in known.values() if argument[2]]
        given = [argument.name.lower() for argument in schema.arguments]
        left = [each for each in required if each.lower() not in given]
        self._names: List[str] = []
        self._tensors: List[bool] = []
        for argument in schema.arguments:
            lower = argument.name.lower()
            is_tensor = "Tensor" in str(argument.type)
            if lower in known and known[lower][1] == is_tensor:
                self._names.append(known[lower][0])
            elif lower in names and not is_tensor:
                self._names.append(names[lower])
            elif is_tensor and left:
                self._names.append(left.pop(0))
            else:
                raise InvalidArgumentError(
                    f"{name}: '{argument.name}' is neither an argument of the kernel {kernel.name} nor a name of its "
                    f"problem; it has {', '.join([*(each[0] for each in known.values()), *names.values()])}"
                )
            self._tensors.append(is_tensor)
        if left:
            raise InvalidArgumentError(f"{name}: the schema has no argument for the input '{left[0]}'")
        if len(schema.returns) != len(outputs):
            raise InvalidArgumentError(
                f"{name}: the schema returns {len(schema.returns)} tensors, and the kernel {kernel.name} makes "
                f"{len(outputs)}: {', '.join(each[0] for each in outputs) or 'none'}"
            )

    def __call__(self, *given: Any) -> Any:
        return self._kernel(**dict(zip(self._names, given)), **self._words)

    def fake(self, *given: Any) -> Any:
        """The outputs of a call, without their contents."""
        arrays, words, first = {}, dict(self._words), None
        for name, is_tensor, value in zip(self._names, self._tensors, given):
            if value is None:
                continue
            if is_tensor:
                first = value if first is None else first
                extents = [int(extent) for extent in value.shape]
                arrays[name] = (_DTYPES[value.dtype], extents, [int(stride) for stride in value.stride()])
            else:
                words[name] = value
        outputs = [
            first.new_empty(shape, dtype=getattr(torch, TORCH_NAMES[dtype]))
            for dtype, shape in self._kernel._outputs(arrays, words)
        ]
        return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


def _keep_inputs(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
    ctx.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))
    ctx.others = [None if isinstance(each, torch.Tensor) else (each,) for each in inputs]


def _derivative(backward: Callable) -> Callable:
    def derivative(ctx: Any, *gradients: Any) -> Tuple[Any, ...]:
        tensors = iter(ctx.saved_tensors)
        inputs = [next(tensors) if each is None else each[0] for each in ctx.others]
        dense = [None if each is None else each.contiguous() for each in gradients]
        result = backward(*dense, *inputs)
        return result if isinstance(result, tuple) else (result,)

    return derivative
