"""The calls on keys that `Table`, `AsyncTable` and `Pipeline` have in common: words of a command, and what its reply means.

They differ in when the result is there: at once, when it is awaited, or when it is asked for. Each has a `_do` that does so; what it
returns is written down in the stubs (`table.pyi`, `aio.pyi`, `pipeline.pyi`).
"""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional

from .errors import InvalidCall


def same(reply: Any) -> Any:
    """The reply as it is."""
    return reply


def milliseconds(seconds: float) -> str:
    """A time as the server takes it; what is less than a millisecond is one, since nothing lives for none."""
    if not seconds > 0:
        raise InvalidCall(f"a time to live of {seconds} s; give a positive number of seconds")
    return str(max(1, round(seconds * 1000)))


def _is_stored(reply: Any) -> bool:
    return reply is not None


def _time_left(key: Any, reply: int) -> Optional[float]:
    if reply == -2:
        raise KeyError(key)
    return None if reply == -1 else reply / 1000


def _or(default: Any, decode: Callable[[bytes], Any], reply: Optional[bytes]) -> Any:
    return default if reply is None else decode(reply)


class Commands:
    """See the module."""

    _encode: Callable[[Any], bytes]
    _decode: Callable[[bytes], Any]
    _key: Callable[[Any], Any]

    def _do(self, words: List[Any], convert: Callable[[Any], Any] = same) -> Any:
        raise NotImplementedError

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self._do(["GET", self._key(key)], functools.partial(_or, default, self._decode))

    def set(
        self,
        key: Any,
        value: Any,
        ttl: Optional[float] = None,
        *,
        if_missing: bool = False,
        if_exists: bool = False,
        keep_ttl: bool = False,
    ) -> Any:
        """Stores a value; whether it was stored, which depends on the conditions alone. It is gone after `ttl` seconds, or stays for ever."""
        words = ["SET", self._key(key), self._encode(value)]
        if if_missing:
            words.append("NX")
        if if_exists:
            words.append("XX")
        if ttl is not None:
            words += ["PX", milliseconds(ttl)]
        if keep_ttl:
            words.append("KEEPTTL")
        return self._do(words, _is_stored)

    def add(self, key: Any, value: Any, ttl: Optional[float] = None) -> Any:
        """Stores a value if there is no such key; whether it did."""
        return self.set(key, value, ttl, if_missing=True)

    def replace(self, key: Any, old: Any, new: Any, ttl: Optional[float] = None) -> Any:
        """Stores `new` if the key holds `old`, byte for byte as it is encoded: compare and set. Whether it did."""
        words = ["SET", self._key(key), self._encode(new), "IFEQ", self._encode(old)]
        if ttl is not None:
            words += ["PX", milliseconds(ttl)]
        return self._do(words, _is_stored)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """What the key holds; if there is none, `default`, which it holds then. Of several that call it at once one stores."""
        words = ["SET", self._key(key), self._encode(default), "NX", "GET"]
        return self._do(words, functools.partial(_or, default, self._decode))

    def take(self, key: Any, default: Any = None) -> Any:
        """Removes a key and tells what it held, or `default`. Of several that call it at once one gets the value."""
        return self._do(["GETDEL", self._key(key)], functools.partial(_or, default, self._decode))

    def delete(self, key: Any) -> Any:
        """Removes a key; whether it was there."""
        return self._do(["DEL", self._key(key)], bool)

    def delete_if(self, key: Any, value: Any) -> Any:
        """Removes a key if it holds `value`, byte for byte as it is encoded; whether it did."""
        return self._do(["DELIFEQ", self._key(key), self._encode(value)], bool)

    def exists(self, key: Any) -> Any:
        """Whether there is such a key."""
        return self._do(["EXISTS", self._key(key)], bool)

    def incr(self, key: Any, by: int = 1) -> Any:
        """Adds a whole number to the decimal number that the key holds (0 if there is none); the sum. Executed once, also if it is sent again."""
        return self._do(["INCRBY", self._key(key), str(by)])

    def decr(self, key: Any, by: int = 1) -> Any:
        """Subtracts; see `incr`."""
        return self.incr(key, -by)

    def expire(self, key: Any, ttl: float) -> Any:
        """The key is gone after so many seconds; whether there is such a key."""
        return self._do(["PEXPIRE", self._key(key), milliseconds(ttl)], bool)

    def persist(self, key: Any) -> Any:
        """The key stays for ever; whether that is news."""
        return self._do(["PERSIST", self._key(key)], bool)

    def ttl(self, key: Any) -> Any:
        """The seconds that a key has to live; `None`: for ever. A `KeyError` if there is none."""
        return self._do(["PTTL", self._key(key)], functools.partial(_time_left, key))

    def command(self, *words: Any) -> Any:
        """Any command, and its reply as it came: `bytes`, `str` for a status line, `int`, `list`, `dict` or `None`.

        Numbers may be given as such. What this library does not know is treated as a write: it is not sent twice.
        """
        return self._do([str(word) if isinstance(word, (int, float)) else word for word in words])
