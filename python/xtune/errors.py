# SPDX-License-Identifier: Apache-2.0
"""The exceptions of xtune. A configuration that fails is not an error: it is a Measurement with its outcome."""
import re


class Error(RuntimeError):
    """What xtune could not do. The message says what is wrong, where, and what to do about it.

    kind: "invalid_spec", "invalid_argument", "unavailable", "unsupported", "nothing_valid", "io" or
    "interrupted".
    """

    kind = ""


class InvalidSpecError(Error, ValueError):
    """The spec is wrong; the message opens with file:line:column, or with the line of Tunable.toml()."""

    kind = "invalid_spec"


class InvalidArgumentError(Error, ValueError, TypeError):
    """An argument is wrong: its type, a setting, an array's dtype, its size, its contiguity, its device."""

    kind = "invalid_argument"


class UnavailableError(Error):
    """A device, driver, compiler or backend is missing."""

    kind = "unavailable"


class UnsupportedError(Error):
    """Understood, but this build or backend cannot do it."""

    kind = "unsupported"


class NothingValidError(Error):
    """No configuration of the space is valid, or none passed."""

    kind = "nothing_valid"


class StorageError(Error):
    """A file or a pipe could not be read or written."""

    kind = "io"


class StoppedError(Error):
    """`stop` was set before there was a result to return."""

    kind = "interrupted"


class CallbackMistake(BaseException):
    """A callback that cannot be called, or that does not answer: it ends the run instead of making
    results wrong. Not an Exception, which would fail one configuration. errors.cpp makes an
    InvalidArgumentError of it, so no user sees it.
    """


_CLASSES = {
    each.kind: each
    for each in (
        InvalidSpecError,
        InvalidArgumentError,
        UnavailableError,
        UnsupportedError,
        NothingValidError,
        StorageError,
        StoppedError,
    )
}


def of_kind(kind, message):
    """An exception of the kind's class; the message names functions of the C++ library."""
    return _CLASSES[kind](re.sub(r"\b(xtune|Tunable|Result|Kernel)::", r"\1.", message))
