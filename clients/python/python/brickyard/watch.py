"""What changes in a table, one change after the other, as it commits.

Nothing is missed while nodes fail and partitions move, and nothing is told twice to a watch that goes on; a position that was kept is where
another one goes on, in another process too. The table has to keep its changes: `create_table("t", history="1mb")`.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from typing import Any, Deque, Dict, Generic, List, Optional, Tuple, TypeVar, Union


K = TypeVar("K")
V = TypeVar("V")

# So often a thread that waits looks whether it has been interrupted.
_LOOK = 0.5


@dataclasses.dataclass(frozen=True)
class Change(Generic[K, V]):
    """What has become of a key, or of many.

    `kind`: `"set"`, the key holds `value`; `"hash"`, it holds the fields of the mapping `value`; `"delete"`, it is gone, by a command, its
    expiry or eviction; `"clear"`, all keys of the slots from `slots[0]` to `slots[1]` are gone, and there is no `key`.
    `expires_at`: when the key will be gone, in seconds since 1970.
    """

    kind: str
    key: Optional[K] = None
    value: Optional[Union[V, Dict[str, V]]] = None
    expires_at: Optional[float] = None
    slots: Optional[Tuple[int, int]] = None


class _Reader(Generic[K, V]):
    """Changes as they come from the native half, and those that were not handed out yet."""

    def __init__(self, table: Any, native: Any, position: Optional[bytes]) -> None:
        self.table = table
        self._native = native
        self._waiting: Deque[Change[K, V]] = deque()
        self._position = position

    @property
    def position(self) -> Optional[bytes]:
        """Where another watch of the same keys goes on; `None` before anything was asked.

        It is behind the change that was handed out last, or some changes before it, which the other watch would see again: changes come
        some at a time, and a position stands between those times. Keep it when you have dealt with the change.
        """
        return self._position

    def _take(self) -> Change[K, V]:
        change = self._waiting.popleft()
        if not self._waiting:
            self._position = self._native.position()
        return change

    def _fill(self, seconds: float) -> List[Change[K, V]]:
        changes = [self._change(*it) for it in self._native.next_within(seconds)]
        if not changes:
            self._position = self._native.position()
        return changes

    def _change(self, kind: str, *words: Any) -> Change[K, V]:
        if kind == "clear":
            return Change(kind, slots=(words[0], words[1]))
        key: K = self.table._name(words[0])
        if kind == "delete":
            return Change(kind, key)
        decode = self.table._decode
        value: Any = words[1]
        value = decode(value) if kind == "set" else {_text(name): decode(it) for name, it in value}
        expires_at = None if words[2] is None else words[2] / 1000
        return Change(kind, key, value, expires_at)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


class Watch(_Reader[K, V]):
    """An iterator over changes, which waits for the next one; of one thread. Made by `Table.watch`.

    >>> for change in table.watch("order:"):
    ...     print(change.kind, change.key, change.value)

    A `Refused` whose text begins with `COMPACTED` says that some of the changes behind the position are not kept any more: read the table, and begin anew.
    """

    def __iter__(self) -> Watch[K, V]:
        return self

    def __next__(self) -> Change[K, V]:
        while True:
            change = self.next(_LOOK)
            if change is not None:
                return change

    def next(self, timeout: float) -> Optional[Change[K, V]]:
        """The next change, or `None` if none came within so many seconds."""
        while not self._waiting:
            wait = min(timeout, _LOOK)
            self._waiting.extend(self._fill(wait))
            timeout -= wait
            if timeout <= 0:
                break
        return self._take() if self._waiting else None


class AsyncWatch(_Reader[K, V]):
    """The same for `async` code: `async for change in table.aio.watch("order:")`. A wait that is cancelled loses nothing."""

    _asked: Optional[asyncio.Future[List[Change[K, V]]]] = None

    def __aiter__(self) -> AsyncWatch[K, V]:
        return self

    async def __anext__(self) -> Change[K, V]:
        while not self._waiting:
            if self._asked is None:
                loop = asyncio.get_running_loop()
                self._asked = loop.run_in_executor(None, self._fill, _LOOK)
            # What was asked goes on when its task is cancelled, and is there for the next one.
            changes = await asyncio.shield(self._asked)
            self._asked = None
            self._waiting.extend(changes)
        return self._take()


def native(table: Any, prefix: Optional[Any], key: Optional[Any], position: Optional[bytes]) -> Any:
    """The native half of a watch; everything that commits after this is told."""
    watch = table._native.watch(prefix, None if key is None else table._key(key), position)
    watch.begin()
    return watch
