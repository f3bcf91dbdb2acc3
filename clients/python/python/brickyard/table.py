"""A table as a mapping: keys and values of a program's own kinds, kept by the cluster.

Every call is one request to the brick that holds the key, and is over when it returns; `update`, `get_many`, `items` and their like send
many at once, `pipeline` sends what a block of code asks for. Errors are those of `brickyard.errors`; a missing key is a `KeyError`.
"""

from __future__ import annotations

import collections.abc
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, TypeVar, Union

from . import parts as _parts
from .codecs import Bytes, Codec, Str, codec
from .commands import Commands, same
from .errors import BrickyardError, InvalidCall, SomeFailed
from .hashes import Hash
from .locks import Lock
from .pipeline import Later, Pipeline
from .watch import Watch, native as _native_watch

K = TypeVar("K")
V = TypeVar("V")

# Requests that are made up and sent together where there are many.
CHUNK = 1000

_MISSING = object()


def chunks(items: Iterable[Any], size: int = CHUNK) -> Iterator[List[Any]]:
    """The items, so many at a time."""
    chunk: List[Any] = []
    for item in items:
        chunk.append(item)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _plain(key: Any) -> Any:
    return key


class Table(Commands, collections.abc.MutableMapping):  # type: ignore[type-arg]
    """A table of the cluster. Made by `Client.table`; threads share it, and it can be pickled: where it is loaded it opens a client of its own
    (the options go along, the password among them)."""

    def __init__(self, client: Any, name: Optional[str], keys: Codec, values: Codec, deadline: Optional[float] = None) -> None:
        self.client = client
        self.name = name
        self.keys_codec = keys
        self.values_codec = values
        self.deadline = deadline
        native = client._native.table(name)
        self._native = native if deadline is None else native.with_deadline(deadline)
        # Text and bytes are taken as they are by the native half.
        self._key: Callable[[Any], Any] = _plain if isinstance(keys, (Str, Bytes)) else keys.encode
        self._name: Callable[[bytes], Any] = keys.decode
        self._encode = values.encode
        self._decode = values.decode
        self._get = self._native.get
        self._set = self._native.set

    def _do(self, words: List[Any], convert: Callable[[Any], Any] = same) -> Any:
        return convert(self._native.call(words))

    # The mapping.

    def __getitem__(self, key: Any) -> Any:
        value = self._get(self._key(key))
        if value is None:
            raise KeyError(key)
        return self._decode(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._set(self._key(key), self._encode(value))

    def __delitem__(self, key: Any) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return bool(self.exists(key))

    def __len__(self) -> int:
        """How many keys there are, asked of all bricks: it costs a round trip to the slowest."""
        count: int = self._native.call(["DBSIZE"])
        return count

    def __bool__(self) -> bool:
        """A table is one, also when it is empty: `len` asks the cluster."""
        return True

    def __iter__(self) -> Iterator[Any]:
        return self.scan()

    def __eq__(self, other: object) -> bool:
        """Whether it is the same table; to compare what is in tables, compare `dict(table)`."""
        return isinstance(other, Table) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Tuple[Any, ...]:
        return self.client.options, self.name, self.keys_codec, self.values_codec

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        value = self._get(self._key(key))
        return default if value is None else self._decode(value)

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        """Removes a key and tells what it held (GETDEL): of several that do so at once one gets the value."""
        taken = self.take(key, _MISSING)
        if taken is not _MISSING:
            return taken
        if default is _MISSING:
            raise KeyError(key)
        return default

    def popitem(self) -> Tuple[Any, Any]:
        """Removes some key and tells it with its value. A `KeyError` if there is none."""
        while True:
            key = self._native.call(["RANDOMKEY"])
            if key is None:
                raise KeyError("the table is empty")
            value = self._native.call(["GETDEL", key])
            # Another may have taken it meanwhile.
            if value is not None:
                return self._name(key), self._decode(value)

    def clear(self, confirm: Optional[str] = None) -> None:
        """Removes every key, if `confirm` is the table's name (`"default"` for the user's own): there is no way back."""
        name = self.name or "default"
        if confirm != name:
            raise InvalidCall(f"this would remove every key of {name}, for ever; if that is meant: clear(confirm={name!r})")
        self._native.call(["FLUSHDB"])

    def update(self, other: Any = (), /, **pairs: Any) -> None:
        """Stores many values, sent together. If some fail: `SomeFailed`, with what became of each of those; the others are stored."""
        if isinstance(other, collections.abc.Mapping):
            other = other.items()
        elif hasattr(other, "keys"):
            other = ((key, other[key]) for key in other.keys())
        with self.pipeline() as pipeline:
            for key, value in other:
                pipeline[key] = value
            for name, value in pairs.items():
                pipeline[name] = value

    def items(self) -> Any:
        """Keys with their values: read in pages, thousands of them in a round trip."""
        return _Items(self)

    def values(self) -> Any:
        """The values, read as `items` does."""
        return _Values(self)

    # Several keys at once.

    def get_many(self, keys: Iterable[Any]) -> Dict[Any, Any]:
        """The values of those keys that there are. If some cannot be read: `SomeFailed`."""
        found: Dict[Any, Any] = {}
        errors: Dict[Any, BrickyardError] = {}
        for chunk in chunks(keys):
            values = self._native.get_many([self._key(key) for key in chunk])
            for key, value in zip(chunk, values):
                if isinstance(value, bytes):
                    found[key] = self._decode(value)
                elif value is not None:
                    errors[key] = value
        if errors:
            raise SomeFailed(errors)
        return found

    def delete_many(self, keys: Iterable[Any]) -> int:
        """Removes keys, sent together; how many of them there were. If some fail: `SomeFailed`."""
        with self.pipeline() as pipeline:
            removed = [pipeline.delete(key) for key in keys]
        return sum(later.result() for later in removed)

    def pipeline(self) -> Pipeline:
        """Sends what a `with` block asks for together; see `Pipeline`."""
        return Pipeline(self)

    def get_later(self, key: Any, default: Any = None) -> Later:
        """Asks for a value and goes on; its `result()` waits for it."""
        return self._later().get(key, default)

    def set_later(self, key: Any, value: Any, ttl: Optional[float] = None) -> Later:
        """Sends a value and goes on; its `result()` says what became of it."""
        return self._later().set(key, value, ttl)

    def _later(self) -> Pipeline:
        return Pipeline(self, chunk=1)

    # Walks.

    def scan(self, match: Optional[Any] = None, *, page: int = 1000, walks: int = 1) -> Iterator[Any]:
        """All keys, or those that match a pattern such as `order:*`, a page at a time.

        A key that is there throughout is seen, and twice only if its partition is split or merged meanwhile. With several `walks` parts of
        the table are walked over at once, and the order means nothing.
        """
        for keys in _parts.pages(self, match, page, walks):
            for key in keys:
                yield self._name(key)

    def parts(self, count: int = 16) -> List[_parts.Part]:
        """The table in so many parts, ranges of slots, each of which can be read by itself, also by other processes."""
        return _parts.parts(self, count)

    def map(
        self,
        function: Callable[[Iterator[Tuple[Any, Any]]], Any],
        *,
        parts: int = 16,
        on: Optional[Any] = None,
    ) -> Iterator[Any]:
        """Calls `function` for every part of the table, with an iterator of the part's items, and gives what it returns, in the order of the parts.

        `on`: where. None: threads of this process. A `concurrent.futures.Executor`, such as one of processes; or a `dask.distributed.Client`:
        then on the workers of its cluster, each part at one on a host that has a copy, where there is one. The function and the table's
        codecs are pickled for that. Each process reads the copies on its own machine first.
        """
        return _parts.map_parts(self.parts(parts), function, on)

    def to_dask(self, parts: int = 16) -> Any:
        """The items as a `dask.bag.Bag`, one partition for each part (`pip install brickyard[dask]`). Nothing is read before it is computed."""
        return _parts.bag(self.parts(parts))

    def watch(
        self, prefix: Optional[Union[str, bytes]] = None, *, key: Optional[Any] = None, position: Optional[bytes] = None
    ) -> Watch[Any, Any]:
        """What changes from now on, or from a position on that a watch of the same keys had: of keys that begin with `prefix`, of one key, or of all.

        The table has to keep its changes: `create_table(name, history="1mb")`. See `Watch`.
        """
        if prefix is not None and key is not None:
            raise InvalidCall("watch takes a prefix or a key, not both")
        native = _native_watch(self, prefix, key, position)
        return Watch(self, native, native.position())

    # Structures.

    def hash(self, key: Any, *, fields: Union[str, Codec] = "str", values: Optional[Union[str, Codec]] = None) -> Hash:
        """The hash under a key, as a mapping of its fields; values by this table's codec, unless it says otherwise."""
        return Hash(self, key, codec(fields), self.values_codec if values is None else codec(values))

    def lock(self, name: Any, *, ttl: float = 10.0, timeout: Optional[float] = None) -> Lock:
        """A lock of that name, with a lease of `ttl` seconds; see `Lock`."""
        return Lock(self, name, ttl, timeout)

    @property
    def aio(self) -> Any:
        """The same table for `async` code; see `AsyncTable`."""
        from .aio import AsyncTable

        return AsyncTable(self)

    def with_deadline(self, seconds: float) -> Table:
        """The same table, whose calls may take so long."""
        return Table(self.client, self.name, self.keys_codec, self.values_codec, seconds)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Table, (self.client, self.name, self.keys_codec, self.values_codec, self.deadline)

    def __repr__(self) -> str:
        return f"<brickyard.Table {self.name or 'default'} of {', '.join(self.client.options.seeds)}>"


class _Items(collections.abc.ItemsView):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Tuple[Any, Any]]:
        return _parts.items(self._mapping, _parts.pages(self._mapping))


class _Values(collections.abc.ValuesView):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.items())

    def __contains__(self, value: object) -> bool:
        return any(value is it or value == it for it in self)
