"""What a type checker makes of programs that use the library: `mypy --strict` accepts this file, and would tell of ignores that are for nothing."""

from typing import Dict, Iterator, List, Optional, Tuple

import brickyard


def text(client: brickyard.Client) -> Dict[str, str]:
    table = client.table("people", values="str")
    table["ann"] = "Oslo"
    table["bob"] = 7  # type: ignore[assignment]
    table.update(eve="Bergen")
    city: Optional[str] = table.get("ann")
    size: int = table.get("ann")  # type: ignore[assignment]
    print(city, size, table.setdefault("ann", "?").upper(), table.pop("bob").upper())
    return {name: city for name, city in table.items()}


def lengths(items: Iterator[Tuple[str, bytes]]) -> int:
    return sum(len(value) for _, value in items)


def follow(client: brickyard.Client) -> Optional[str]:
    table = client.table("people", values="str")
    for change in table.watch("a"):
        if isinstance(change.value, str):
            return change.value
    return None


def plain(client: brickyard.Client) -> List[int]:
    table = client.table()
    with table.pipeline() as pipeline:
        count = pipeline.incr("n")
        pipeline["k"] = b"1"
    with table.lock("l") as lock:
        print(lock.token + count.result())
    return list(table.map(lengths))


async def awaited(client: brickyard.Client) -> bytes:
    table = client.table().aio
    await table.set("k", b"1", ttl=60)
    async for key in table:
        print(key.upper())
    value = await table.get("k")
    return value  # type: ignore[return-value]
