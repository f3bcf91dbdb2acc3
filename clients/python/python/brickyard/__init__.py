"""Brickyard from Python: a table of the cluster as a mapping.

>>> import brickyard
>>> people = brickyard.connect("127.0.0.1:6379").table("people", values="json")
>>> people["ann"] = {"age": 41}
>>> {name: person["age"] for name, person in people.items()}

`Client`, `Table`: the mapping, counters, compare-and-set, `pipeline`, `scan`, `map`, `to_dask`. `Table.aio`: the same for `async` code.
`Table.hash`: the fields under one key. `Table.watch`: what changes. `Table.lock`: locks with a lease. `brickyard.errors`: what each error promises. `brickyard.codecs`:
values other than bytes.
"""

from .aio import AsyncTable
from .client import Client, connect
from .errors import (
    BrickyardError,
    ClientClosed,
    ForkedError,
    InvalidCall,
    LockError,
    LockLost,
    NotAcquired,
    NotExecuted,
    Overloaded,
    ProtocolError,
    ReadTimeout,
    Refused,
    SomeFailed,
    UnknownOutcome,
    Unreachable,
)
from .hashes import AsyncHash, Hash
from .locks import AsyncLock, Lock
from .options import Options
from .parts import Part
from .pipeline import Later, Pipeline
from .table import Table
from .watch import AsyncWatch, Change, Watch

__all__ = [
    "AsyncHash",
    "AsyncLock",
    "AsyncTable",
    "AsyncWatch",
    "BrickyardError",
    "Change",
    "Client",
    "ClientClosed",
    "ForkedError",
    "Hash",
    "InvalidCall",
    "Later",
    "Lock",
    "LockError",
    "LockLost",
    "NotAcquired",
    "NotExecuted",
    "Options",
    "Overloaded",
    "Part",
    "Pipeline",
    "ProtocolError",
    "ReadTimeout",
    "Refused",
    "SomeFailed",
    "Table",
    "UnknownOutcome",
    "Unreachable",
    "Watch",
    "connect",
]
