"""Words are counted, over and over, while a node of the cluster is killed and comes back.

Usage: through_a_kill.py SEEDS STOP. In each round some lines change and all words are counted, by threads over the table's parts; a counter
goes up, under a lock. After each round the program prints `round n`. What contradicts what was acknowledged before ends it at once.
"""

import asyncio
import collections
import os
import sys
import time

import brickyard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from words import count  # noqa: E402

LINES = 400
PATIENCE = 60.0


class Session:
    """Calls that are made again when they fail, as a user would, if they may be."""

    def __init__(self):
        self.repeated = 0
        self.unknown = 0

    def again(self, call, is_idempotent=True):
        begin = time.monotonic()
        while True:
            try:
                return call()
            except brickyard.BrickyardError as error:
                print(f"again: {type(error).__name__}: {error}", flush=True)
                if time.monotonic() - begin > PATIENCE:
                    raise
                self.repeated += 1
                is_executed = not isinstance(error, brickyard.NotExecuted)
                if is_executed and not is_idempotent:
                    self.unknown += 1
                    return None
                time.sleep(0.02)


def check(what, seen, wanted):
    if seen != wanted:
        sys.exit(f"{what}: got {seen!r}, expected {wanted!r}")


async def read_all(table, keys):
    return await table.aio.get_many(keys)


def main():
    seeds, stop = sys.argv[1:3]
    client = brickyard.connect(seeds, reads="nearest")
    lines, numbers = client.table(values="str"), client.table(values="json")
    session = Session()
    expected, counted, round_number = {}, 0, 0
    while not os.path.exists(stop):
        changed = {f"line:{at}": f"round {round_number} of word{at % 13}" for at in range(round_number % 7, LINES, 7)}
        session.again(lambda: lines.update(changed))
        expected.update(changed)
        # The counter and the lock have keys in the same table, and are no lines.
        words = session.again(lambda: sum(lines.map(of_lines, parts=8), collections.Counter()))
        check("words", words, count(expected.items()))
        some = list(changed)[:20]
        check("lines", session.again(lambda: asyncio.run(read_all(lines, some))), {key: expected[key] for key in some})
        with session.again(lambda: acquired(numbers)) as lock:
            value = session.again(lambda: numbers.incr("counter"), is_idempotent=False)
            counted += value is not None
            if value is not None and not counted <= value <= counted + session.unknown:
                sys.exit(f"counter: got {value}, acknowledged {counted}, unknown {session.unknown}, lock {lock.token}")
        print(f"round {round_number}", flush=True)
        round_number += 1
    fresh = brickyard.connect(seeds).table(values="json")
    value = session.again(lambda: fresh["counter"])
    if not counted <= value <= counted + session.unknown:
        sys.exit(f"in the end, counter: got {value}, acknowledged {counted}, unknown {session.unknown}")
    print(f"done: {len(expected)} lines, {value} counted, {session.repeated} calls repeated, {session.unknown} of unknown outcome")


def of_lines(items):
    return count((key, line) for key, line in items if key.startswith("line:"))


class acquired:
    """A lock that may be lost with a node, which this test does not mind."""

    def __init__(self, table):
        self.lock = table.lock("lock", ttl=30)
        if not self.lock.acquire(timeout=PATIENCE):
            raise brickyard.NotAcquired("nobody holds it for so long")

    def __enter__(self):
        return self.lock

    def __exit__(self, *_):
        try:
            self.lock.release()
        except brickyard.BrickyardError as error:
            print(f"again: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
