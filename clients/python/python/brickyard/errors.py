"""What a call can fail with, told apart by what became of it.

After `NotExecuted` nothing was written and the call may be made again as it is. After `UnknownOutcome` a write may have been executed, or
may still be: read before writing again. Nothing else leaves that open.
"""

from __future__ import annotations

from typing import Any, Mapping


class BrickyardError(Exception):
    """Anything that this library raises by itself; a missing key is a `KeyError`."""


class NotExecuted(BrickyardError):
    """The call was not executed and will not be; it may be made again as it is."""


class Refused(NotExecuted):
    """The server said no, in these words. Refusals of the moment (`BUSY`, `LOADING`, ...) were asked again until the deadline."""

    @property
    def prefix(self) -> str:
        """The first word of the refusal, such as `WRONGTYPE` or `OOM`."""
        return str(self).split(" ", 1)[0]


class Unreachable(NotExecuted, ConnectionError):
    """No address of the cluster took the call within its deadline."""


class Overloaded(NotExecuted):
    """As much was in flight as `Options` allow, and the turn of this call would have come too late."""


class ReadTimeout(NotExecuted, TimeoutError):
    """A read that was not answered within its deadline."""


class InvalidCall(NotExecuted, ValueError):
    """The call makes no sense as it is; the text says what to do instead."""


class ClientClosed(NotExecuted):
    """The client was closed before the call could be sent."""


class ForkedError(NotExecuted):
    """The client belongs to the process that this one was forked from; open another one here."""


class UnknownOutcome(BrickyardError):
    """A write that may have been executed, or may still be: read before writing again."""


class ProtocolError(BrickyardError):
    """The server answered with something that is no answer to the call; it is of another kind or version."""


class SomeFailed(BrickyardError):
    """Of several calls that were made together some failed; the others were executed.

    `errors` has the exception of each that failed, by its key, or by its place in the pipeline.
    """

    def __init__(self, errors: Mapping[Any, BrickyardError]) -> None:
        self.errors = dict(errors)
        unknown = sum(isinstance(error, (UnknownOutcome, ProtocolError)) for error in self.errors.values())
        first = next(iter(self.errors.items()), None)
        example = f"; {first[0]!r}: {first[1]}" if first else ""
        super().__init__(f"{len(self.errors)} calls failed, {unknown} of them with unknown outcome{example}")

    def __reduce__(self) -> tuple[Any, ...]:
        return SomeFailed, (self.errors,)


class LockError(BrickyardError):
    """Something about a lock."""


class NotAcquired(LockError, TimeoutError):
    """Somebody else held the lock for as long as was to be waited."""


class LockLost(LockError):
    """The lease ran out before the lock was released: somebody else may have held it meanwhile. Choose a longer `ttl`, or `extend` it."""
