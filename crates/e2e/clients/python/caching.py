"""redis-py's own client-side cache: what another client has written is what this one reads next.

Usage: caching.py SEED... (host:port of node ports). Exits with 0 if everything holds.
"""

import sys

import redis
from redis.cache import CacheConfig

ROUNDS = 300


def cached(host: str, port: int, kind: type) -> redis.Redis:
    return kind(host=host, port=port, protocol=3, cache_config=CacheConfig())


def change(call, *words) -> None:
    """Writes, and again where the answer is that nobody knows: on a machine that is short of time a node may be taken for dead."""
    for _ in range(20):
        try:
            call(*words)
            return
        except redis.ResponseError as error:
            if not str(error).startswith("UNKNOWNRESULT"):
                raise
    raise AssertionError(f"{words} was not answered in twenty attempts")


def check(reader, writer, name: str) -> None:
    """Reads from a cache see every write that was answered before."""
    keys = [f"{name}:{number}" for number in range(10)]
    for turn in range(ROUNDS):
        key = keys[turn % len(keys)]
        change(writer.set, key, turn)
        for _ in range(2):
            found = reader.get(key)
            assert found == str(turn).encode(), f"{key} is {turn} and was read as {found}"
        if turn % 7 == 0:
            change(writer.delete, key)
            assert reader.get(key) is None, key


def check_cache_is_used(reader, writer, name: str) -> None:
    """A key that nobody writes is asked for once."""
    writer.set(name, "quiet")
    before = calls(writer)
    for _ in range(500):
        assert reader.get(name) == b"quiet"
    asked = calls(writer) - before
    assert asked < 50, f"{asked} of 500 reads were asked of a server"


def calls(client) -> int:
    """GETs that all nodes have executed."""
    everything = client.info("commandstats", target_nodes="all") if hasattr(client, "get_primaries") else client.info("commandstats")
    if "cmdstat_get" in everything or not any(isinstance(it, dict) and "cmdstat_info" in it for it in everything.values()):
        everything = {"one": everything}
    return sum(it.get("cmdstat_get", {}).get("calls", 0) for it in everything.values())


def main() -> None:
    seeds = [seed.rsplit(":", 1) for seed in sys.argv[1:]]
    (host, port), (other_host, other_port) = seeds[0], seeds[-1]
    plain = redis.Redis(host=other_host, port=int(other_port))
    check(cached(host, int(port), redis.Redis), plain, "plain")
    cluster = redis.RedisCluster(host=other_host, port=int(other_port))
    check(cached(host, int(port), redis.RedisCluster), cluster, "cluster")
    check_cache_is_used(cached(host, int(port), redis.Redis), redis.Redis(host=host, port=int(port)), "quiet")


main()
