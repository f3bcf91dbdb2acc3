"""redis-py's cluster client and the whole keyspace, through a node kill; see ../README.md.

Usage: keyspace.py SEEDS STOP.
"""

import os
import sys
import time
from collections.abc import Callable

import redis
from redis.cluster import LoadBalancingStrategy

# Nothing but what was installed is found by itself.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from workload import PATIENCE, Session

KEYS = 300


def until(what: str, session: Session, request: "Callable[[redis.RedisCluster], object]", wanted: object) -> None:
    """Asks again until the answer is the wanted one: while partitions change hands a scan may miss some, as with Redis.

    A client that nobody redirects goes on with the masters that it knew, until it is opened anew.
    """
    begin = time.monotonic()
    while (seen := session.call(request)) != wanted:
        if time.monotonic() - begin > PATIENCE:
            sys.exit(f"{what}: got {seen!r}, wanted {wanted!r}")
        print(f"again: {what}: {str(seen)[:60]}", flush=True)
        session.client = None
        time.sleep(0.02)


def make_round(session: Session, reader: Session, number: int) -> None:
    def emptied(it: redis.RedisCluster) -> object:
        it.flushall()
        # It is counted by a client that knows today's masters.
        session.client = None
        return session.connected().dbsize(target_nodes=redis.RedisCluster.PRIMARIES)

    def written(it: redis.RedisCluster) -> object:
        with it.pipeline() as pipeline:
            for key, value in values.items():
                pipeline.set(key, value)
            return all(pipeline.execute())

    values = {f"k:{number}:{at}": str(at) for at in range(KEYS)}
    names = {key.encode() for key in values}
    until("DBSIZE after FLUSHALL", session, emptied, 0)
    until("pipelined SET", session, written, True)
    until("DBSIZE", session, lambda it: it.dbsize(target_nodes=redis.RedisCluster.PRIMARIES), KEYS)
    until("SCAN", session, lambda it: set(it.scan_iter(count=20)), names)
    until("KEYS", session, lambda it: set(it.keys("k:*", target_nodes=redis.RedisCluster.PRIMARIES)), names)
    for key, value in values.items():
        until(f"GET {key} of a replica", reader, lambda it, key=key: it.get(key), value.encode())
    until("MGET of replicas", reader, lambda it: it.mget_nonatomic(values), [it.encode() for it in values.values()])


def main() -> None:
    seeds, stop = sys.argv[1:3]
    addresses = [(host, int(port)) for host, port in (it.rsplit(":", 1) for it in seeds.split(","))]
    session = Session("cluster", addresses)
    reader = Session("cluster", addresses, load_balancing_strategy=LoadBalancingStrategy.RANDOM_REPLICA)
    number = 0
    while not os.path.exists(stop):
        make_round(session, reader, number)
        print(f"round {number}", flush=True)
        number += 1
    print(f"done: {number} rounds, {session.failures + reader.failures} calls repeated")


if __name__ == "__main__":
    main()
