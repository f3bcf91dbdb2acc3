"""Tables for `async` code.

The calls that are made in one turn of the event loop leave together at its end, however many tasks they come from. Replies are taken in by a
thread of the native half, which never waits for the interpreter; the loop learns of them by a socket and takes all that have come.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import _native
from .codecs import Codec, codec
from .commands import Commands, same
from .errors import BrickyardError, SomeFailed
from .hashes import AsyncHash
from .locks import AsyncLock
from .watch import AsyncWatch

# A loop's port goes when the loop does.
_ports: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Port] = weakref.WeakKeyDictionary()


class _Port:
    """What an event loop has sent and waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._mailbox = _native.Mailbox()
        self._waiting: Dict[int, Tuple[asyncio.Future[Any], Callable[[Any], Any]]] = {}
        self._next = 0
        # What this turn of the loop has asked for, by table.
        self._turn: Dict[Any, List[Tuple[int, List[Any]]]] = {}
        loop.add_reader(self._mailbox.fileno(), self._take)

    def call(self, native: Any, words: List[Any], convert: Callable[[Any], Any]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._next += 1
        self._waiting[self._next] = future, convert
        if not self._turn:
            loop.call_soon(self._send)
        self._turn.setdefault(native, []).append((self._next, words))
        return future

    def _send(self) -> None:
        turn, self._turn = self._turn, {}
        for native, calls in turn.items():
            try:
                native.post(self._mailbox, calls)
            except Exception as error:
                for number, _ in calls:
                    self._tell(number, error)

    def _take(self) -> None:
        for number, reply in self._mailbox.take():
            self._tell(number, reply)

    def _tell(self, number: int, reply: Any) -> None:
        future, convert = self._waiting.pop(number)
        # Its task may have been cancelled.
        if future.done():
            return
        if isinstance(reply, Exception):
            future.set_exception(reply)
            return
        try:
            future.set_result(convert(reply))
        except Exception as error:
            future.set_exception(error)


def _port() -> _Port:
    loop = asyncio.get_running_loop()
    port = _ports.get(loop)
    if port is None:
        port = _ports[loop] = _Port(loop)
    return port


class AsyncTable(Commands):
    """A table whose methods are awaited. Made by `Table.aio`; what is said of the methods of `Table` is true here, too.

    >>> people = client.table("people", values="json").aio
    >>> await people.set("ann", {"age": 41}, ttl=60)
    >>> ann, bob = await asyncio.gather(people.get("ann"), people.get("bob"))
    >>> async for name, person in people.items():
    ...     print(name, person)
    """

    def __init__(self, table: Any) -> None:
        self.table = table
        self._native = table._native
        self._key = table._key
        self._encode = table._encode
        self._decode = table._decode

    def _do(self, words: List[Any], convert: Callable[[Any], Any] = same) -> Awaitable[Any]:
        return _port().call(self._native, words, convert)

    async def pop(self, key: Any, *default: Any) -> Any:
        """Removes a key and tells what it held; a `KeyError` if there is none and no default."""
        missing = object()
        taken = await self.take(key, missing)
        if taken is not missing:
            return taken
        if not default:
            raise KeyError(key)
        return default[0]

    async def length(self) -> int:
        """How many keys there are."""
        count: int = await self._do(["DBSIZE"])
        return count

    async def get_many(self, keys: Iterable[Any]) -> Dict[Any, Any]:
        """The values of those keys that there are. If some cannot be read: `SomeFailed`."""
        wanted = list(keys)
        missing = object()
        values = await self._all(wanted, (self.get(key, missing) for key in wanted))
        return {key: value for key, value in zip(wanted, values) if value is not missing}

    async def update(self, other: Any = (), /, **pairs: Any) -> None:
        """Stores many values, sent together. If some fail: `SomeFailed`; the others are stored."""
        items = list(dict(other, **pairs).items())
        await self._all([key for key, _ in items], (self.set(key, value) for key, value in items))

    def hash(self, key: Any, *, fields: Union[str, Codec] = "str", values: Optional[Union[str, Codec]] = None) -> AsyncHash:
        """The hash under a key; values by this table's codec, unless it says otherwise."""
        return AsyncHash(self, key, codec(fields), self.table.values_codec if values is None else codec(values))

    def lock(self, name: Any, *, ttl: float = 10.0, timeout: Optional[float] = None) -> AsyncLock:
        """A lock of that name, with a lease of `ttl` seconds."""
        return AsyncLock(self, name, ttl, timeout)

    def watch(
        self, prefix: Optional[Union[str, bytes]] = None, *, key: Optional[Any] = None, position: Optional[bytes] = None
    ) -> AsyncWatch[Any, Any]:
        """What changes from now on, or from a position on; as `Table.watch`, to be iterated over with `async for`."""
        watch = self.table.watch(prefix, key=key, position=position)
        return AsyncWatch(self.table, watch._native, watch.position)

    async def _all(self, keys: List[Any], calls: Iterable[Awaitable[Any]]) -> List[Any]:
        from .table import chunks

        results: List[Any] = []
        for chunk in chunks(calls):
            results += await asyncio.gather(*chunk, return_exceptions=True)
        errors = {key: it for key, it in zip(keys, results) if isinstance(it, BrickyardError)}
        if errors:
            raise SomeFailed(errors)
        for it in results:
            if isinstance(it, BaseException):
                raise it
        return results

    async def scan(self, match: Optional[Any] = None, *, page: int = 1000) -> AsyncIterator[Any]:
        """All keys, or those that match a pattern, a page at a time."""
        async for keys in self._pages(match, page):
            for key in keys:
                yield self.table._name(key)

    async def items(self) -> AsyncIterator[Tuple[Any, Any]]:
        """Keys with their values, a page at a time."""
        async for keys in self._pages(None, 1000):
            values = await asyncio.gather(*(self._do(["GET", key]) for key in keys))
            for key, value in zip(keys, values):
                if value is not None:
                    yield self.table._name(key), self._decode(value)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.scan()

    async def _pages(self, match: Optional[Any], page: int) -> AsyncIterator[List[bytes]]:
        cursor: Any = b"0"
        while True:
            words = ["SCAN", cursor, "COUNT", str(page)]
            if match is not None:
                words += ["MATCH", match]
            cursor, keys = await self._do(words)
            yield keys
            if cursor == b"0":
                return
