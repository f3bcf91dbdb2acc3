"""Measures this library beside redis-py: the same machine, the same node, the same keys, in turns.

Usage: beside_redis_py.py HOST:PORT [--rounds 7] [--keys 10000]. It empties the table `default` there.

Each task is done by one after the other in each round, in an order that changes, and the median of the rounds is told: microseconds by the
clock, and of this process's processor time (all its threads), both for one key. The node's own time is in neither processor figure.
"""

import argparse
import asyncio
import random
import statistics
import time

import redis
import redis.asyncio

import brickyard

VALUE = b"v" * 100


def timed(task):
    wall, busy = time.perf_counter(), time.process_time()
    done = task()
    return (time.perf_counter() - wall) / done * 1e6, (time.process_time() - busy) / done * 1e6


def tasks(address, table, client, keys):
    """By what is done: who does it how; each tells how many keys that were."""

    def gets(get):
        for key in keys:
            get(key)
        return len(keys)

    def sets(put):
        for key in keys:
            put(key, VALUE)
        return len(keys)

    def assignments():
        for key in keys:
            table[key] = VALUE
        return len(keys)

    def pipelined():
        with table.pipeline() as pipeline:
            for key in keys:
                pipeline[key] = VALUE
        return len(keys)

    def pipelined_redis():
        for begin in range(0, len(keys), 1000):
            with client.pipeline(transaction=False) as pipeline:
                for key in keys[begin : begin + 1000]:
                    pipeline.set(key, VALUE)
                pipeline.execute()
        return len(keys)

    def updated():
        table.update(dict.fromkeys(keys, VALUE))
        return len(keys)

    def comprehension():
        return len({key: value for key, value in table.items()})

    def comprehension_redis():
        return len({key: client.get(key) for key in client.scan_iter(count=1000)})

    def comprehension_redis_by_hand():
        found, cursor = {}, 0
        while True:
            cursor, page = client.scan(cursor, count=1000)
            found.update(zip(page, client.mget(page) if page else ()))
            if cursor == 0:
                return len(found)

    def gathered():
        async def read():
            aio = table.aio
            for begin in range(0, len(keys), 100):
                await asyncio.gather(*(aio.get(key) for key in keys[begin : begin + 100]))

        asyncio.run(read())
        return len(keys)

    def gathered_redis():
        async def read():
            async with redis.asyncio.Redis(host=address[0], port=address[1]) as aio:
                for begin in range(0, len(keys), 100):
                    await asyncio.gather(*(aio.get(key) for key in keys[begin : begin + 100]))

        asyncio.run(read())
        return len(keys)

    return {
        "GET, one after the other": {"brickyard": lambda: gets(table.get), "redis-py": lambda: gets(client.get)},
        "SET, one after the other": {"brickyard": assignments, "redis-py": lambda: sets(client.set)},
        "SET in a pipeline": {"brickyard": pipelined, "redis-py": pipelined_redis},
        "`update` of a dict": {"brickyard": updated, "redis-py": None},
        "`{key: value ...}` of all": {"brickyard": comprehension, "redis-py": comprehension_redis},
        "the same, MGET by hand": {"brickyard": None, "redis-py": comprehension_redis_by_hand},
        "100 awaited GETs at once": {"brickyard": gathered, "redis-py": gathered_redis},
    }


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("address")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--keys", type=int, default=10_000)
    wanted = arguments.parse_args()
    host, port = wanted.address.rsplit(":", 1)
    address = host, int(port)
    client = redis.Redis(host=address[0], port=address[1])
    library = brickyard.connect(wanted.address)
    table = library.table()
    client.flushdb()
    keys = [f"key:{number}" for number in range(wanted.keys)]
    table.update(dict.fromkeys(keys, VALUE))
    todo = [(what, who, task) for what, each in tasks(address, table, client, keys).items() for who, task in each.items() if task]
    figures = {(what, who): [] for what, who, _ in todo}
    for number in range(wanted.rounds + 1):
        random.shuffle(todo)
        for what, who, task in todo:
            figure = timed(task)
            # The first round warms up.
            if number:
                figures[what, who].append(figure)
    print("| for one key, in microseconds | brickyard | its processor time | redis-py | its processor time |")
    print("|---|---|---|---|---|")
    for what in dict.fromkeys(what for what, _ in figures):
        cells = []
        for who in ("brickyard", "redis-py"):
            rounds = figures.get((what, who))
            cells += [f"{statistics.median(it[at] for it in rounds):.1f}" for at in (0, 1)] if rounds else ["", ""]
        print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
