"""Calls that travel together, each with a result of its own.

What is asked for in a block is sent in chunks while the block goes on; the end of the block waits for all of it.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

from .commands import Commands, same
from .errors import BrickyardError, InvalidCall, SomeFailed

# Chunks under way at once, beyond which whoever makes more waits.
CHUNKS_MAX = 4


class Later:
    """The result of a call that was made: `result()` waits for it, and raises what the call raises."""

    __slots__ = ("_convert", "_pipeline", "_batch", "_place", "_is_asked")

    def __init__(self, pipeline: Pipeline, convert: Callable[[Any], Any]) -> None:
        self._pipeline = pipeline
        self._convert = convert
        # Whoever asks learns of an error; the pipeline need not tell it again.
        self._is_asked = False
        # The calls that it was sent with, and its place among them; nothing before.
        self._batch: Any = None
        self._place = 0

    def result(self) -> Any:
        """What the call returns, as soon as it does."""
        self._is_asked = True
        if self._batch is None:
            self._pipeline.send()
        reply = self._batch.wait()[self._place]
        if isinstance(reply, BrickyardError):
            raise reply
        return self._convert(reply)

    def is_done(self) -> bool:
        """Whether `result()` need not wait."""
        return self._batch is not None and bool(self._batch.is_done())


class Pipeline(Commands):
    """Has the methods of a table on single keys; each returns a `Later`.

    >>> with table.pipeline() as pipeline:
    ...     for name, age in ages.items():
    ...         pipeline[name] = age
    ...     old = pipeline.get("ann")
    >>> old.result()

    The end of the block waits for everything, and raises `SomeFailed` if calls failed whose result was not asked for. Calls on one key are
    executed in their order unless one of them has to be sent again; other calls have no order among each other.
    """

    def __init__(self, table: Any, chunk: int = 1000) -> None:
        self._native = table._native
        self._key = table._key
        self._encode = table._encode
        self._decode = table._decode
        self._chunk = chunk
        self._words: List[List[Any]] = []
        self._laters: List[Tuple[Any, Optional[Later]]] = []
        self._under_way: Deque[Tuple[Any, List[Tuple[Any, Optional[Later]]]]] = collections.deque()
        self._errors: Dict[Any, BrickyardError] = {}

    def _do(self, words: List[Any], convert: Callable[[Any], Any] = same) -> Later:
        later = Later(self, convert)
        self._add(words, later)
        return later

    def _add(self, words: List[Any], later: Optional[Later]) -> None:
        self._words.append(words)
        self._laters.append((words, later))
        if len(self._words) >= self._chunk:
            self.send()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._add(["SET", self._key(key), self._encode(value)], None)

    def __delitem__(self, key: Any) -> None:
        raise InvalidCall("whether a key was there shows later: use delete(key), and its result()")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a pipeline has no keys; iterate over its table")

    def send(self) -> None:
        """Sends what was asked for so far, and waits for none of it, unless very much is under way."""
        if not self._words:
            return
        words, laters = self._words, self._laters
        self._words, self._laters = [], []
        while len(self._under_way) >= CHUNKS_MAX:
            self._finish()
        batch = self._native.start(words)
        for place, (_, later) in enumerate(laters):
            if later is not None:
                later._batch, later._place = batch, place
        self._under_way.append((batch, laters))

    def wait(self) -> None:
        """Sends all and waits for it. `SomeFailed` if something failed since it was last called: then all of it is over, too."""
        self.send()
        while self._under_way:
            self._finish()
        errors, self._errors = self._errors, {}
        if errors:
            raise SomeFailed(errors)

    def _finish(self) -> None:
        """Waits for the chunk that was sent first."""
        batch, laters = self._under_way.popleft()
        for reply, (words, later) in zip(batch.wait(), laters):
            if isinstance(reply, BrickyardError) and not (later is not None and later._is_asked):
                self._errors[words[1] if len(words) > 1 else words[0]] = reply

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self.wait()
        except SomeFailed:
            # What went wrong in the block comes first.
            if kind is None:
                raise
