"""From a program's values to bytes and back.

A codec is anything with `encode(value) -> bytes` and `decode(bytes) -> value`; for work in other processes it has to be picklable. Those
here have names, which `Client.table(values=...)` takes: `bytes`, `str`, `json`, `msgpack`. `Pickle` has none, since loading a pickle runs
whatever its writer put there: who wants it makes one, for tables that nobody else can write.
"""

from __future__ import annotations

import json
import pickle
from typing import Any, Callable, Dict, Protocol, Union


class Codec(Protocol):
    """See the module."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""
        ...

    def decode(self, data: bytes) -> Any:
        """The value of bytes."""
        ...


class _Named:
    """Codecs of one kind are equal, so that tables, and processes, can be compared by them."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Bytes(_Named):
    """Bytes as they are; what is none is refused."""

    def encode(self, value: Any) -> bytes:
        """The bytes; a `TypeError` for anything else."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        raise TypeError(
            f"a value of this table is bytes, not {type(value).__name__}; a codec turns others into bytes: table(values=\"json\")"
        )

    def decode(self, data: bytes) -> bytes:
        """The bytes."""
        return data


class Str(_Named):
    """Text as UTF-8; bytes that are none come back as they were (`surrogateescape`)."""

    def encode(self, value: Any) -> bytes:
        """The text's bytes; bytes as they are."""
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return value
        raise TypeError(f"expected str, got {type(value).__name__}; a codec turns others into bytes: \"json\", for one")

    def decode(self, data: bytes) -> str:
        """The text."""
        return data.decode("utf-8", "surrogateescape")


class Json(_Named):
    """JSON without blanks. Whole numbers are what counters add to."""

    def encode(self, value: Any) -> bytes:
        """The JSON text of a value."""
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")

    def decode(self, data: bytes) -> Any:
        """The value of a JSON text."""
        return json.loads(data)


class Msgpack(_Named):
    """MessagePack, by the package `msgpack` (`pip install brickyard[msgpack]`)."""

    def __init__(self) -> None:
        try:
            import msgpack  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise ImportError("the codec \"msgpack\" needs the package of that name: pip install brickyard[msgpack]") from error
        self._pack, self._unpack = msgpack.packb, msgpack.unpackb

    def encode(self, value: Any) -> bytes:
        """The packed value."""
        packed: bytes = self._pack(value)
        return packed

    def decode(self, data: bytes) -> Any:
        """The value."""
        return self._unpack(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return Msgpack, ()


class Pickle(_Named):
    """Pickles, for tables that nobody else can write: **loading one runs what its writer put there.**"""

    def encode(self, value: Any) -> bytes:
        """The pickle of a value."""
        return pickle.dumps(value, protocol=5)

    def decode(self, data: bytes) -> Any:
        """The value, and whatever its writer wanted to happen."""
        return pickle.loads(data)


_BY_NAME: Dict[str, Callable[[], Codec]] = {"bytes": Bytes, "str": Str, "json": Json, "msgpack": Msgpack}


def codec(wanted: Union[str, Codec]) -> Codec:
    """The codec of that name, or the one given."""
    if not isinstance(wanted, str):
        return wanted
    if wanted in _BY_NAME:
        return _BY_NAME[wanted]()
    if wanted == "pickle":
        raise ValueError(
            "pickles are off: loading one runs what its writer put there; if nobody else writes this table, "
            "give brickyard.codecs.Pickle() itself"
        )
    raise ValueError(f"no codec is called {wanted!r}; there are {', '.join(_BY_NAME)}")
