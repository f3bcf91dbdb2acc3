"""A client: one process's connections to a cluster, and the tables that it reaches over them."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, Literal, Optional, Tuple, Union, overload

from . import _native
from .codecs import Codec, codec
from .options import Options, addresses
from .table import Table

_open: Dict[Options, Client] = {}
_opening = threading.Lock()


def _after_fork() -> None:
    """In a child: what was open is the parent's, and the lock may have been held by a thread that is not here."""
    global _opening
    _native.after_fork()
    _opening = threading.Lock()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def connect(seeds: Union[str, Tuple[str, ...]] = "127.0.0.1:6379", **options: Any) -> Client:
    """A client of the cluster that one of these addresses is of: `host:port`, or several, separated by commas or as a tuple.

    The options are the fields of `Options`. Raises `Unreachable` if no address answers, and `Refused` if the user is not let in.

    >>> client = connect("10.0.0.1,10.0.0.2", user="ann", password="secret", deadline=1.0)
    >>> people = client.table("people", values="json")
    """
    return Client(Options(seeds=addresses(seeds), **options))


def shared(options: Options) -> Client:
    """The client that this process has for such options, opened when it is first asked for: what pickled tables open."""
    with _opening:
        client = _open.get(options)
        if client is None or client.is_closed:
            client = _open[options] = Client(options)
        return client


class Client:
    """One process's connections to a cluster; threads share it. A `with` block closes it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.is_closed = False
        self._native = _native.Client(options)

    @overload
    def table(self, name: Optional[str] = None, *, keys: Literal["str"] = "str", values: Literal["bytes"] = "bytes") -> Table[str, bytes]: ...
    @overload
    def table(self, name: Optional[str] = None, *, keys: Literal["str"] = "str", values: Literal["str"]) -> Table[str, str]: ...
    @overload
    def table(self, name: Optional[str] = None, *, keys: Literal["str"] = "str", values: Union[str, Codec]) -> Table[str, Any]: ...
    @overload
    def table(self, name: Optional[str] = None, *, keys: Union[str, Codec], values: Union[str, Codec] = "bytes") -> Table[Any, Any]: ...

    def table(
        self,
        name: Optional[str] = None,
        *,
        keys: Union[str, Codec] = "str",
        values: Union[str, Codec] = "bytes",
    ) -> Table[Any, Any]:
        """The table of that name; without one, the table that the user is bound to, or `default`. Nothing is asked: whether there is such a
        table shows when it is first used; `create_table` makes one.

        `keys` and `values` are codecs (`brickyard.codecs`): keys are text, and values bytes, unless it says otherwise.
        """
        return Table(self, name, codec(keys), codec(values))

    def create_table(self, name: str, **attributes: Any) -> bool:
        """Makes a table, with attributes such as `durability="fsync"` or `replicas=3` (TABLE CREATE); whether there was none of that name."""
        from .errors import Refused

        words: Tuple[Any, ...] = ()
        for attribute, value in attributes.items():
            words += (attribute.upper(), value)
        try:
            self.table().command("TABLE", "CREATE", name, *words)
        except Refused as refused:
            if "exists already" in str(refused):
                return False
            raise
        return True

    def close(self) -> None:
        """Takes no more calls. Those in flight come to their end."""
        self.is_closed = True
        self._native.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return shared, (self.options,)

    def __repr__(self) -> str:
        return f"<brickyard.Client of {', '.join(self.options.seeds)}>"
