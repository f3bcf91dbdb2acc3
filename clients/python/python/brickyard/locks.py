"""Locks with a lease and a fencing token.

A lock is a key that holds who has it, and is gone when its lease runs out, so that nobody is locked out for ever by a holder that died.
The price of every lease: a holder that is slower than its lease is a holder no more, without knowing. So each holder gets a number, higher
than that of every holder before; whatever the lock guards should refuse a number that is lower than the last one that it saw.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from typing import Any, Generator, List, Optional

from .commands import milliseconds
from .errors import BrickyardError, LockLost, NotAcquired, UnknownOutcome

# Between two looks at a lock that somebody else holds, in seconds: doubled each time, and different by chance.
_PAUSE_MIN, _PAUSE_MAX = 0.002, 0.1

# Asks for what commands reply, and ends with whether it worked.
Steps = Generator[List[Any], Any, bool]


class Holder:
    """One holder of a lock: what it asks, and what it may believe of the answers. `Lock` and `AsyncLock` do the asking."""

    def __init__(self, table: Any, name: Any, ttl: float, timeout: Optional[float]) -> None:
        self.name = name
        self.ttl = ttl
        self.timeout = timeout
        self.token = 0
        """The number of this holder: higher than that of any before. 0: it never held the lock."""
        self._table = table
        key = table._key(name)
        self._at: bytes = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key)
        self._owner = uuid.uuid4().hex
        self._until: Optional[float] = None

    @property
    def time_left(self) -> float:
        """The seconds for which this object certainly holds the lock; 0 if it does not."""
        return 0.0 if self._until is None else max(0.0, self._until - time.monotonic())

    def _begin(self) -> None:
        if self._until is not None:
            raise RuntimeError(f"this object holds the lock {self.name!r} already; release it, or make another lock of that name")

    def _try(self) -> Steps:
        # By this clock the lease ends no later than by the server's, which begins after this.
        begin = time.monotonic()
        try:
            holder = yield ["SET", self._at, self._owner, "NX", "GET", "PX", milliseconds(self.ttl)]
        except UnknownOutcome:
            # It may have been stored: who holds it says so.
            holder = yield ["GET", self._at]
            if holder is None:
                return False
        if holder is not None and holder != self._owner.encode():
            return False
        token: int = yield ["INCR", b"{" + self._at + b"}:fence"]
        if time.monotonic() >= begin + self.ttl:
            # Somebody else may have counted in between: this number may be higher than that of a later holder.
            yield ["DELIFEQ", self._at, self._owner]
            return False
        self.token, self._until = token, begin + self.ttl
        return True

    def _extend(self, ttl: Optional[float]) -> Steps:
        ttl = self.ttl if ttl is None else ttl
        begin = time.monotonic()
        if self._until is not None:
            replaced = yield ["SET", self._at, self._owner, "IFEQ", self._owner, "PX", milliseconds(ttl)]
            if replaced is not None:
                self._until = begin + ttl
                return True
        self._until = None
        raise self._lost()

    def _release(self) -> Steps:
        was_held, self._until = self._until is not None, None
        if was_held:
            removed = yield ["DELIFEQ", self._at, self._owner]
            if removed:
                return True
        raise self._lost()

    def _lost(self) -> LockLost:
        return LockLost(f"the lease of the lock {self.name!r} has run out; what was done since may overlap with another holder")

    def _not_acquired(self) -> NotAcquired:
        return NotAcquired(f"the lock {self.name!r} was held by others for {self.timeout} s")


class _Pauses:
    """How long to wait between two looks, and until when at all."""

    def __init__(self, timeout: Optional[float]) -> None:
        self._until = None if timeout is None else time.monotonic() + timeout
        self._pause = _PAUSE_MIN

    def next(self) -> Optional[float]:
        """Seconds; None: no more."""
        pause = self._pause * random.uniform(0.5, 1.0)
        self._pause = min(2 * self._pause, _PAUSE_MAX)
        if self._until is None:
            return pause
        left = self._until - time.monotonic()
        return min(pause, left) if left > 0 else None


class Lock(Holder):
    """A lock, by a key of its table that bears its name; `{name}:fence` beside it counts its holders. Made by `Table.lock`.

    >>> with table.lock("reindex", ttl=30) as lock:
    ...     storage.write(rows, fence=lock.token)

    It does not lengthen its lease by itself: `extend` does. One object is one holder: it is not acquired twice, nor shared by threads.
    """

    def _ask(self, steps: Steps) -> bool:
        try:
            words = next(steps)
            while True:
                try:
                    reply = self._table._native.call(words)
                except BrickyardError as error:
                    words = steps.throw(error)
                else:
                    words = steps.send(reply)
        except StopIteration as end:
            return bool(end.value)

    def acquire(self, timeout: Optional[float] = None) -> bool:
        """Waits for the lock, for `timeout` seconds at most, or for ever if that is None; whether it has it. `timeout=0` looks once."""
        self._begin()
        pauses = _Pauses(timeout)
        while not self._ask(self._try()):
            pause = pauses.next()
            if pause is None:
                return False
            time.sleep(pause)
        return True

    def extend(self, ttl: Optional[float] = None) -> None:
        """The lease begins anew, with so many seconds. Raises `LockLost` if it had run out."""
        self._ask(self._extend(ttl))

    def release(self) -> None:
        """Lets go of it. Raises `LockLost` if the lease had run out before."""
        self._ask(self._release())

    def __enter__(self) -> Lock:
        if not self.acquire(self.timeout):
            raise self._not_acquired()
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self.release()
        except LockLost:
            # What went wrong in the block comes first.
            if kind is None:
                raise


class AsyncLock(Holder):
    """The same for `async` code: `async with table.aio.lock("reindex") as lock`. Made by `AsyncTable.lock`."""

    async def _ask(self, steps: Steps) -> bool:
        try:
            words = next(steps)
            while True:
                try:
                    reply = await self._table._do(words)
                except BrickyardError as error:
                    words = steps.throw(error)
                else:
                    words = steps.send(reply)
        except StopIteration as end:
            return bool(end.value)

    async def acquire(self, timeout: Optional[float] = None) -> bool:
        """Waits for the lock, for `timeout` seconds at most, or for ever if that is None; whether it has it. `timeout=0` looks once."""
        self._begin()
        pauses = _Pauses(timeout)
        while not await self._ask(self._try()):
            pause = pauses.next()
            if pause is None:
                return False
            await asyncio.sleep(pause)
        return True

    async def extend(self, ttl: Optional[float] = None) -> None:
        """The lease begins anew, with so many seconds. Raises `LockLost` if it had run out."""
        await self._ask(self._extend(ttl))

    async def release(self) -> None:
        """Lets go of it. Raises `LockLost` if the lease had run out before."""
        await self._ask(self._release())

    async def __aenter__(self) -> AsyncLock:
        if not await self.acquire(self.timeout):
            raise self._not_acquired()
        return self

    async def __aexit__(self, kind: Any, *_: object) -> None:
        try:
            await self.release()
        except LockLost:
            # What went wrong in the block comes first.
            if kind is None:
                raise
