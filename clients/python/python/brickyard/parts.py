"""A table in parts: ranges of slots, which several threads, processes or machines read at once.

A part names slots and nothing on any server, so it stays the same whatever is split, merged or moved while it is read. A key that is there
throughout is in exactly one part, and is seen there; twice only if its partition is split or merged meanwhile.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import os
import queue
import threading
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

SLOTS = 16384

# Keys that are looked at for a page.
PAGE = 1000

# Seconds that a read of a part may take: a walk over a table outlives the loss of a node, and there is no hurry.
PATIENCE = 30.0


class Part:
    """The keys of some slots of a table. Can be pickled: where it is loaded it opens a client of its own, which reads the copies on its own
    machine first."""

    def __init__(self, table: Any, begin: int, end: int) -> None:
        self.table = table
        self.begin = begin
        self.end = end

    def keys(self) -> Iterator[Any]:
        """The keys, a page at a time."""
        table = self._patient()
        for page in pages(table, slots=(self.begin, self.end)):
            for key in page:
                yield table._name(key)

    def items(self) -> Iterator[Tuple[Any, Any]]:
        """The keys with their values, a page at a time."""
        table = self._patient()
        return items(table, pages(table, slots=(self.begin, self.end)))

    def hosts(self) -> List[str]:
        """Who has a copy of these slots, as far as the client knows now: the hosts that have most of them first."""
        counts: collections.Counter[str] = collections.Counter()
        for begin, end, replicas in self.table._native.holders():
            shared = min(end, self.end) - max(begin, self.begin)
            for host in {address.rsplit(":", 1)[0].strip("[]") for address in replicas}:
                counts[host] += max(shared, 0)
        return [host for host, slots in counts.most_common() if slots > 0]

    def _patient(self) -> Any:
        deadline = self.table.deadline or self.table.client.options.deadline
        return self.table if deadline >= PATIENCE else self.table.with_deadline(PATIENCE)

    def __reduce__(self) -> Tuple[Any, ...]:
        table = self.table
        return _load, (table.client.options, table.name, table.keys_codec, table.values_codec, table.deadline, self.begin, self.end)

    def __repr__(self) -> str:
        return f"<brickyard.Part slots {self.begin} to {self.end} of {self.table!r}>"


def _load(options: Any, name: Optional[str], keys: Any, values: Any, deadline: Optional[float], begin: int, end: int) -> Part:
    """A part in another process, or in the same one: there is one client for each set of options."""
    from .client import shared
    from .table import Table

    return Part(Table(shared(options.beside()), name, keys, values, deadline), begin, end)


def parts(table: Any, count: int) -> List[Part]:
    """The table in so many parts, as even as slots are."""
    if not 1 <= count <= SLOTS:
        raise ValueError(f"{count} parts; a table has 1 to {SLOTS}, the number of its slots")
    bounds = [at * SLOTS // count for at in range(count + 1)]
    return [Part(table, begin, end) for begin, end in zip(bounds, bounds[1:])]


def pages(
    table: Any,
    match: Optional[Any] = None,
    page: int = PAGE,
    walks: int = 1,
    slots: Tuple[int, int] = (0, SLOTS),
) -> Iterator[List[bytes]]:
    """The keys of some slots as they are on the wire, in pages; several parts at once where that is asked for."""
    if walks <= 1:
        scan = table._native.scan(slots[0], slots[1], match, page)
        return iter(scan.next_page, None)
    begin, end = slots
    bounds = [begin + at * (end - begin) // walks for at in range(walks + 1)]
    ranges = zip(bounds, bounds[1:])
    return _merged([pages(table, match, page, 1, it) for it in ranges])


def _merged(sources: List[Iterator[Any]]) -> Iterator[Any]:
    """What several iterators give, each on a thread of its own that is one step ahead."""
    arrived: queue.Queue[Tuple[bool, Any]] = queue.Queue(maxsize=len(sources))
    is_over = threading.Event()

    def put(message: Tuple[bool, Any]) -> bool:
        while not is_over.is_set():
            try:
                arrived.put(message, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def walk(source: Iterator[Any]) -> None:
        end: Any = None
        try:
            for item in source:
                if not put((True, item)):
                    return
        except BaseException as error:
            end = error
        put((False, end))

    threads = [threading.Thread(target=walk, args=(source,), daemon=True) for source in sources]
    for thread in threads:
        thread.start()
    try:
        left = len(threads)
        while left:
            is_item, item = arrived.get()
            if is_item:
                yield item
            elif item is not None:
                raise item
            else:
                left -= 1
    finally:
        is_over.set()


def items(table: Any, keys: Iterable[List[bytes]]) -> Iterator[Tuple[Any, Any]]:
    """Keys with their values; a key that is gone before its value is read is left out."""
    for page in keys:
        if not page:
            continue
        for key, value in zip(page, table._native.get_many(page)):
            if isinstance(value, bytes):
                yield table._name(key), table._decode(value)
            elif value is not None:
                raise value


def _run(function: Callable[[Iterator[Tuple[Any, Any]]], Any], part: Part) -> Any:
    return function(part.items())


def map_parts(all_parts: List[Part], function: Callable[[Iterator[Tuple[Any, Any]]], Any], on: Optional[Any]) -> Iterator[Any]:
    """See `Table.map`. All parts are under way when this returns."""
    run = functools.partial(_run, function)
    if on is None:
        workers = min(len(all_parts), 4 * (os.cpu_count() or 1))
        threads = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="brickyard-map")
        results = threads.map(run, all_parts)
        # What is under way comes to its end; the threads with it.
        threads.shutdown(wait=False)
        return results
    if isinstance(on, concurrent.futures.Executor):
        return on.map(run, all_parts)
    # A client of Dask's: a part goes to a worker on a host that has a copy, or to any where no worker is on one.
    futures = [
        on.submit(run, part, pure=False, workers=part.hosts() or None, allow_other_workers=True) for part in all_parts
    ]
    return (future.result() for future in futures)


def bag(all_parts: List[Part]) -> Any:
    """See `Table.to_dask`."""
    try:
        from dask import bag as bags
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError("to_dask needs Dask: pip install brickyard[dask]") from error
    loads = [delayed(_items_of, pure=False)(part) for part in all_parts]
    return bags.from_delayed(loads)  # type: ignore[no-untyped-call,unused-ignore]


def _items_of(part: Part) -> List[Tuple[Any, Any]]:
    return list(part.items())
