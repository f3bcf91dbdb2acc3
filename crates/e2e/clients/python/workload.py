"""redis-py through a node kill; see ../README.md.

Usage: workload.py cluster|plain SEEDS STOP. `plain` is the client without any notion of a cluster, which is
given another node's port when it cannot go on.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import redis
from redis.cluster import ClusterNode

PATIENCE = 60.0
COUNTERS = 10
DELETED_AFTER = 20
INCREMENT = "return redis.call('incr', KEYS[1])"

T = TypeVar("T")


def tls_options() -> dict[str, object]:
    """Under TLS, if the test names certificates."""
    authority = os.environ.get("WORKLOAD_CA")
    if authority is None:
        return {}
    return {
        "ssl": True,
        "ssl_ca_certs": authority,
        "ssl_certfile": os.environ["WORKLOAD_CERT"],
        "ssl_keyfile": os.environ["WORKLOAD_KEY"],
    }


class Session:
    """A client that is asked again when it fails."""

    def __init__(self, kind: str, seeds: list[tuple[str, int]], **options: object) -> None:
        self.kind, self.seeds, self.options = kind, seeds, options
        self.attempt = 0
        self.failures = 0
        self.client: redis.RedisCluster | redis.Redis | None = None

    def connected(self) -> "redis.RedisCluster | redis.Redis":
        if self.client is None:
            tls = tls_options()
            if self.kind == "cluster":
                nodes = [ClusterNode(host, port) for host, port in self.seeds]
                self.client = redis.RedisCluster(startup_nodes=nodes, **tls, **self.options)
            else:
                host, port = self.seeds[self.attempt % len(self.seeds)]
                self.client = redis.Redis(host=host, port=port, **tls)
        return self.client

    def call(self, request: "Callable[[redis.RedisCluster | redis.Redis], T]") -> T:
        begin = time.monotonic()
        while True:
            try:
                return request(self.connected())
            except (redis.RedisError, OSError) as error:
                self.failures += 1
                if time.monotonic() - begin > PATIENCE:
                    raise
                print(f"again: {type(error).__name__}: {error}", flush=True)
                if self.kind == "plain":
                    self.attempt += 1
                    self.client = None
                time.sleep(0.02)


class Listener:
    """Listens to a channel; anew when its node is gone."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.client: "redis.client.PubSub | None" = None

    def heard(self) -> object:
        try:
            if self.client is None:
                client = self.session.connected().pubsub(ignore_subscribe_messages=True)
                client.subscribe("news")
                self.client = client
            message = self.client.get_message(timeout=0.02)
            return message["data"] if message else None
        except (redis.RedisError, OSError) as error:
            print(f"again: {type(error).__name__}: {error}", flush=True)
            self.client = None
            return None

    def hears(self, text: str) -> None:
        """Publishes until it has heard that."""
        begin = time.monotonic()
        while self.heard() != text.encode():
            if time.monotonic() - begin > PATIENCE:
                sys.exit(f"nothing is heard of {text}")
            self.session.call(lambda it: it.publish("news", text))


def check(what: str, seen: object, wanted: object) -> None:
    if seen != wanted:
        sys.exit(f"{what}: got {seen!r}, acknowledged was {wanted!r}")


Hashes = dict[str, dict[bytes, bytes]]


def run(session: Session, stop: str) -> tuple[dict[str, bytes | None], dict[str, int], Hashes]:
    values: dict[str, bytes | None] = {}
    hashes: Hashes = {}
    counters: dict[str, int] = {}
    number = 0
    while not os.path.exists(stop):
        key, value = f"s:{number}", str(number).encode()
        check(f"SET {key}", session.call(lambda it: it.set(key, value)), True)
        values[key] = value
        check(f"GET {key}", session.call(lambda it: it.get(key)), value)
        counter = f"c:{number % COUNTERS}"
        if number % 2 == 1:
            counted = session.call(lambda it: it.register_script(INCREMENT)(keys=[counter]))
        else:
            counted = session.call(lambda it: it.incr(counter))
        if counted <= counters.get(counter, 0):
            sys.exit(f"INCR {counter}: got {counted} after {counters[counter]}")
        counters[counter] = counted
        hashed, field = f"h:{number % COUNTERS}", f"f{number % 7}"
        session.call(lambda it: it.hset(hashed, field, value))
        hashes.setdefault(hashed, {})[field.encode()] = value
        check(f"HGETALL {hashed}", session.call(lambda it: it.hgetall(hashed)), hashes[hashed])
        recent = [f"s:{at}" for at in range(max(0, number - 2), number + 1)]
        many = (lambda it: it.mget_nonatomic(recent)) if session.kind == "cluster" else (lambda it: it.mget(recent))
        check(f"MGET {recent}", session.call(many), [values[it] for it in recent])
        old = f"s:{number - DELETED_AFTER}"
        if number % 5 == 0 and old in values:
            session.call(lambda it: it.delete(old))
            values[old] = None
            check(f"GET {old}", session.call(lambda it: it.get(old)), None)
        print(f"round {number}", flush=True)
        number += 1
    return values, counters, hashes


def main() -> None:
    kind, seeds, stop = sys.argv[1:4]
    addresses = [(host, int(port)) for host, port in (it.rsplit(":", 1) for it in seeds.split(","))]
    session = Session(kind, addresses)
    listener = Listener(session)
    listener.hears("first")
    values, counters, hashes = run(session, stop)
    listener.hears("last")
    fresh = Session(kind, addresses)
    for key, value in values.items():
        check(f"in the end, {key}", fresh.call(lambda it, key=key: it.get(key)), value)
    for key, fields in hashes.items():
        check(f"in the end, {key}", fresh.call(lambda it, key=key: it.hgetall(key)), fields)
    for key, least in counters.items():
        seen = int(fresh.call(lambda it, key=key: it.get(key)) or 0)
        if seen < least:
            sys.exit(f"in the end, {key}: got {seen}, acknowledged was {least}")
    print(f"done: {len(values)} values, {session.failures} calls repeated")


if __name__ == "__main__":
    main()
