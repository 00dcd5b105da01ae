# SPDX-License-Identifier: Apache-2.0
"""Arguments whose array a parameter chooses, and errors of outputs as results."""
import re
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

import numpy

from xtune import _checks
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.compat.kernel_tuner.observers import OutputObserver
from xtune.errors import InvalidArgumentError

__getattr__ = refuse_others("kernel_tuner.accuracy")
_PRECISIONS = {
    **dict.fromkeys(("half", "f16", "float16", "__half"), numpy.float16),
    **dict.fromkeys(("float", "single", "f32", "float32"), numpy.float32),
    **dict.fromkeys(("double", "f64", "float64"), numpy.float64),
}


class Tunable:
    """An argument that is one of several arrays: the one under the value of the parameter `param_key`."""

    def __init__(self, param_key: str, arrays: Union[Mapping[Any, Any], Sequence[Any]]):
        self.param_key = _checks.require("param_key", param_key, str)
        self.data = dict(enumerate(arrays)) if isinstance(arrays, (list, tuple)) else dict(arrays)

    def select_for_configuration(self, params: Mapping[str, Any]) -> Any:
        """The array of a configuration. Raises InvalidArgumentError if there is none."""
        if self.param_key not in params:
            raise InvalidArgumentError(
                f"Tunable: '{self.param_key}' is not one of the parameters ({', '.join(params)}): name one of them"
            )
        value = params[self.param_key]
        if value not in self.data:
            known = ", ".join(map(str, self.data))
            raise InvalidArgumentError(
                f"Tunable: {self.param_key}={value!r} has no array (found {known}): add one for each value"
            )
        return self.data[value]

    __call__ = select_for_configuration


class TunablePrecision(Tunable):
    """The same numbers as half, float and double, or in the types of dtypes: a dict by the values of the parameter, or a
    list of names such as "float32"."""

    def __init__(self, param_key: str, array: Any, dtypes: Union[None, Mapping[str, Any], Sequence[str]] = None):
        names = dtypes or ("half", "float", "double")
        types = dict(names) if isinstance(names, Mapping) else {name: _precision(name) for name in names}
        contents = array if isinstance(array, numpy.generic) else numpy.asarray(array)
        super().__init__(param_key, {name: contents.astype(dtype) for name, dtype in types.items()})


def _precision(name: str) -> Any:
    try:
        return _PRECISIONS[name] if name in _PRECISIONS else numpy.dtype(name)
    except TypeError:
        raise InvalidArgumentError(f"TunablePrecision: '{name}' is not a type; use half, float, double") from None


def _absolute(a: Any, b: Any, _: float) -> Any:
    return numpy.abs(a - b)


def _relative(a: Any, b: Any, least: float) -> Any:
    return numpy.abs(a - b) / numpy.maximum(numpy.abs(a), least)


def _logarithmic(a: Any, b: Any, least: float) -> Any:
    return numpy.abs(numpy.log10(a + least) - numpy.log10(b + least))


def _root_mean_square(errors: Any) -> Any:
    return numpy.sqrt(numpy.mean(numpy.square(errors)))


# By the words of the name, without "error": the error of an element, and how those of all are summed up.
_METRICS: Dict[str, Any] = {
    "mse": (_absolute, lambda errors: numpy.mean(numpy.square(errors))),
    "rmse": (_absolute, _root_mean_square),
    "mae": (_absolute, numpy.mean),
    "mre": (_relative, numpy.mean),
    "rmsre": (_relative, _root_mean_square),
    "male": (_logarithmic, numpy.mean),
    "rmsle": (_logarithmic, _root_mean_square),
    "max": (_absolute, numpy.max),
    "max rel": (_relative, numpy.max),
}
_LONG = {
    "mean square": "mse",
    "root mean square": "rmse",
    "normalized root mean square": "nrmse",
    "absolute": "mae",
    "mean absolute": "mae",
    "relative": "mre",
    "mean relative": "mre",
    "root mean square relative": "rmsre",
    "mean absolute log": "male",
    "root mean square log": "rmsle",
    "max absolute": "max",
    "max relative": "max rel",
}
_WORDS = {
    "average": "mean",
    "avg": "mean",
    "squared": "square",
    "sq": "square",
    "maximum": "max",
    "abs": "absolute",
    "logarithmic": "log",
}


def error_metric_from_name(user_key: str, EPS: float = 1e-8) -> Callable[[Any, Any], float]:
    """A function of the right and the computed output: "RMSE", "MRE", "max", "mean absolute error", ... EPS: the least
    divisor of relative errors."""
    words = re.split(r"[\s_-]+", user_key.lower().strip())
    name = " ".join(_WORDS.get(word, word) for word in words if word != "error")
    name = _LONG.get(name, name)
    if name == "nrmse":
        rmse = error_metric_from_name("rmse")
        return lambda a, b: rmse(a, b) / float(_root_mean_square(numpy.asarray(a, numpy.float64)))
    if name not in _METRICS:
        raise InvalidArgumentError(f"error metric '{user_key}' is unknown; use {', '.join([*_METRICS, 'nrmse'])}")
    element, summed = _METRICS[name]
    return lambda a, b: float(summed(element(numpy.asarray(a, numpy.float64), numpy.asarray(b, numpy.float64), EPS)))


class AccuracyObserver(OutputObserver):
    """The largest error among the outputs that have an answer, under the name `key`.

    metric: a name for error_metric_from_name, default "RMSE", or a function of the right and the computed output."""

    def __init__(self, metric: Union[None, str, Callable] = None, key: str = "error", *, atol: float = 1e-8):
        self.metric = metric if callable(metric) else error_metric_from_name(metric or "rmse", atol)
        self.key, self.result = key, None  # type: ignore[var-annotated]

    def process_output(self, answer: Sequence[Any], output: Sequence[Any]) -> None:
        pairs = [(right, found) for right, found in zip(answer, output) if right is not None]
        if not pairs:
            raise InvalidArgumentError("AccuracyObserver: pass an answer, which the outputs are compared with")
        self.result = max(self.metric(numpy.ravel(right), numpy.ravel(found)) for right, found in pairs)

    def get_results(self) -> Dict[str, Optional[float]]:
        return {self.key: self.result}
