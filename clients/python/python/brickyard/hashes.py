"""A hash, the fields under one key, as a mapping.

All fields are in one partition, so what names several of them reads or writes them at one instant. Redis's hashes, by the names that
mappings use.
"""

from __future__ import annotations

import collections.abc
from typing import Any, Awaitable, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .codecs import Bytes, Codec, Str
from .commands import milliseconds

_MISSING = object()


class Hash(collections.abc.MutableMapping):  # type: ignore[type-arg]
    """The fields under one key. Made by `Table.hash`; it is there as long as it has fields, and empty otherwise.

    >>> ann = table.hash("user:ann", values="json")
    >>> ann["age"] = 41
    >>> ann.incr("visits")
    >>> dict(ann)
    """

    def __init__(self, table: Any, key: Any, fields: Codec, values: Codec) -> None:
        self.table = table
        self.key = key
        self._native = table._native
        self._at = table._key(key)
        self._field: Callable[[Any], Any] = (lambda it: it) if isinstance(fields, (Str, Bytes)) else fields.encode
        self._name = fields.decode
        self._encode = values.encode
        self._decode = values.decode

    def _call(self, name: str, *words: Any) -> Any:
        return self._native.call([name, self._at, *words])

    def __getitem__(self, field: Any) -> Any:
        value = self._call("HGET", self._field(field))
        if value is None:
            raise KeyError(field)
        return self._decode(value)

    def __setitem__(self, field: Any, value: Any) -> None:
        self._call("HSET", self._field(field), self._encode(value))

    def __delitem__(self, field: Any) -> None:
        if not self._call("HDEL", self._field(field)):
            raise KeyError(field)

    def __contains__(self, field: object) -> bool:
        return bool(self._call("HEXISTS", self._field(field)))

    def __len__(self) -> int:
        count: int = self._call("HLEN")
        return count

    def __iter__(self) -> Iterator[Any]:
        return iter([self._name(field) for field in self._call("HKEYS")])

    def items(self) -> Any:
        """All fields with their values, as they are at one instant."""
        return self.copy().items()

    def values(self) -> Any:
        """All values, as they are at one instant."""
        return self.copy().values()

    def copy(self) -> Dict[Any, Any]:
        """All fields with their values, as they are at one instant."""
        pairs = self._call("HGETALL")
        return {self._name(field): self._decode(value) for field, value in pairs.items()}

    def get_many(self, fields: Iterable[Any]) -> Dict[Any, Any]:
        """The values of those fields that there are, as they are at one instant."""
        wanted = list(fields)
        if not wanted:
            return {}
        values = self._call("HMGET", *map(self._field, wanted))
        return {field: self._decode(value) for field, value in zip(wanted, values) if value is not None}

    def update(self, other: Any = (), /, **pairs: Any) -> None:
        """Stores several fields at one instant."""
        words: List[Any] = []
        for field, value in dict(other, **pairs).items():
            words += (self._field(field), self._encode(value))
        if words:
            self._call("HSET", *words)

    def add(self, field: Any, value: Any) -> bool:
        """Stores a field if there is none of that name; whether it did."""
        return bool(self._call("HSETNX", self._field(field), self._encode(value)))

    def setdefault(self, field: Any, default: Any = None) -> Any:
        """What the field holds; if there is none, `default`, which it holds then."""
        while True:
            if self.add(field, default):
                return self._decode(self._encode(default))
            value = self._call("HGET", self._field(field))
            # It may have been removed between the two.
            if value is not None:
                return self._decode(value)

    def pop(self, field: Any, default: Any = _MISSING) -> Any:
        """Removes a field and tells what it held: of several that do so at once one gets the value."""
        [value] = self._call("HGETDEL", "FIELDS", "1", self._field(field))
        if value is not None:
            return self._decode(value)
        if default is _MISSING:
            raise KeyError(field)
        return default

    def popitem(self) -> Tuple[Any, Any]:
        """Removes some field and tells it with its value. A `KeyError` if there is none."""
        while True:
            field = self._call("HRANDFIELD")
            if field is None:
                raise KeyError("the hash is empty")
            [value] = self._call("HGETDEL", "FIELDS", "1", field)
            if value is not None:
                return self._name(field), self._decode(value)

    def clear(self) -> None:
        """Removes the key with all its fields."""
        self._call("DEL")

    def incr(self, field: Any, by: int = 1) -> int:
        """Adds a whole number to the decimal number that the field holds (0 if there is none); the sum. Executed once, also if it is sent again."""
        total: int = self._call("HINCRBY", self._field(field), str(by))
        return total

    def expire(self, field: Any, ttl: float) -> bool:
        """The field is gone after so many seconds; whether there is such a field."""
        [outcome] = self._call("HPEXPIRE", milliseconds(ttl), "FIELDS", "1", self._field(field))
        return bool(outcome > 0)

    def ttl(self, field: Any) -> Optional[float]:
        """The seconds that a field has to live; `None`: as long as the key. A `KeyError` if there is none."""
        reply = self._call("HPTTL", "FIELDS", "1", self._field(field))
        left = -2 if reply is None else reply[0]
        if left == -2:
            raise KeyError(field)
        return None if left == -1 else left / 1000

    def __eq__(self, other: object) -> bool:
        """Whether it is the same hash, or a mapping that has the same fields and values."""
        if isinstance(other, Hash):
            return bool(self.table == other.table and self.key == other.key)
        return isinstance(other, collections.abc.Mapping) and bool(self.copy() == dict(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<brickyard.Hash {self.key!r} of {self.table!r}>"


class AsyncHash:
    """The same for `async` code, with names instead of brackets. Made by `AsyncTable.hash`."""

    def __init__(self, table: Any, key: Any, fields: Codec, values: Codec) -> None:
        self.table = table
        self.key = key
        self._at = table._key(key)
        self._field: Callable[[Any], Any] = (lambda it: it) if isinstance(fields, (Str, Bytes)) else fields.encode
        self._name = fields.decode
        self._encode = values.encode
        self._decode = values.decode

    def _call(self, name: str, *words: Any) -> Awaitable[Any]:
        reply: Awaitable[Any] = self.table._do([name, self._at, *words])
        return reply

    async def get(self, field: Any, default: Any = None) -> Any:
        """The value of a field, or `default`."""
        value = await self._call("HGET", self._field(field))
        return default if value is None else self._decode(value)

    async def set(self, field: Any, value: Any) -> bool:
        """Stores a field; whether there was none of that name."""
        return bool(await self._call("HSET", self._field(field), self._encode(value)))

    async def add(self, field: Any, value: Any) -> bool:
        """Stores a field if there is none of that name; whether it did."""
        return bool(await self._call("HSETNX", self._field(field), self._encode(value)))

    async def update(self, other: Any = (), /, **pairs: Any) -> None:
        """Stores several fields at one instant."""
        words: List[Any] = []
        for field, value in dict(other, **pairs).items():
            words += (self._field(field), self._encode(value))
        if words:
            await self._call("HSET", *words)

    async def delete(self, *fields: Any) -> int:
        """Removes fields; how many of them there were."""
        return int(await self._call("HDEL", *map(self._field, fields))) if fields else 0

    async def incr(self, field: Any, by: int = 1) -> int:
        """Adds a whole number to the decimal number that the field holds (0 if there is none); the sum."""
        return int(await self._call("HINCRBY", self._field(field), str(by)))

    async def exists(self, field: Any) -> bool:
        """Whether there is such a field."""
        return bool(await self._call("HEXISTS", self._field(field)))

    async def length(self) -> int:
        """How many fields there are."""
        return int(await self._call("HLEN"))

    async def copy(self) -> Dict[Any, Any]:
        """All fields with their values, as they are at one instant."""
        pairs = await self._call("HGETALL")
        return {self._name(field): self._decode(value) for field, value in pairs.items()}

    def __repr__(self) -> str:
        return f"<brickyard.AsyncHash {self.key!r} of {self.table.table!r}>"
