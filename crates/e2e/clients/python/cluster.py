"""redis-py's RedisCluster client, which routes by slot, from the node port and from a brick's port.

Usage: cluster.py NODE_PORT BRICK_PORT. Exits with 0 if everything holds.
"""

import asyncio
import sys

import redis
import redis.asyncio


def check(port: int, protocol: int) -> None:
    client = redis.RedisCluster(host="127.0.0.1", port=port, protocol=protocol)
    assert len(client.get_primaries()) == 3, client.get_nodes()
    client.flushall()
    for number in range(300):
        assert client.set(f"k{number}", number)
    for number in range(300):
        assert client.get(f"k{number}") == str(number).encode()
    assert client.dbsize(target_nodes=redis.RedisCluster.PRIMARIES) == 300
    assert len(set(client.scan_iter(count=20))) == 300
    assert set(client.keys("k1", target_nodes=redis.RedisCluster.PRIMARIES)) == {b"k1"}
    assert client.mget_nonatomic("k1", "k2", "k3") == [b"1", b"2", b"3"]
    assert client.mset_nonatomic({"a": 1, "b": 2, "c": 3})
    assert client.exists("a", "b", "nosuch") == 2
    assert client.delete("a", "b", "c") == 3
    assert client.incr("{t}n") == 1
    assert client.rename("{t}n", "{t}m")
    try:
        client.rename("k1", "k2")
        raise AssertionError("RENAME across slots went through")
    except redis.RedisClusterException:
        pass
    with client.pipeline() as pipeline:
        for number in range(100):
            pipeline.incr(f"k{number}")
        assert pipeline.execute() == [number + 1 for number in range(100)]
    add = client.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
    client.script_flush()
    assert [add(keys=[f"added{number}"], args=[number]) for number in range(50)] == list(range(50))
    assert client.eval("return redis.call('get', KEYS[1])", 1, "added7") == b"7"
    with client.lock("{t}mutex", timeout=10):
        assert not client.lock("{t}mutex", timeout=10).acquire(blocking=False)
    assert client.get("{t}mutex") is None
    check_channels(client)
    check_table(port)
    assert client.cluster_keyslot("{t}n") == client.keyslot("{t}n")
    assert client.cluster_info(target_nodes=redis.RedisCluster.RANDOM)["cluster_state"] == "ok"
    client.close()


def check_table(port: int) -> None:
    """A table of its own, named behind the user: in a cluster there is no SELECT."""
    plain = redis.Redis(port=port)
    if b"cl" not in plain.execute_command("TABLE LIST"):
        plain.execute_command("TABLE CREATE", "cl")
    client = redis.RedisCluster.from_url(f"redis://default+cl:x@127.0.0.1:{port}")
    for number in range(50):
        assert client.set(f"cl{number}", number)
    client.close()
    again = redis.RedisCluster.from_url(f"redis://default+cl:x@127.0.0.1:{port}")
    assert [again.get(f"cl{number}") for number in range(50)] == [b"%d" % number for number in range(50)]
    again.close()
    assert plain.execute_command("TABLE DESCRIBE", "cl")


def check_channels(client: redis.RedisCluster) -> None:
    """Channels, and sharded ones, whose node redis-py finds by the channel's slot."""
    listening = client.pubsub()
    listening.subscribe("news")
    sharded = client.pubsub()
    names = [f"shard{number}" for number in range(20)]
    for name in names:
        sharded.ssubscribe(name)
    assert listening.get_message(timeout=10)["type"] == "subscribe"
    client.publish("news", "x")
    assert listening.get_message(timeout=10)["data"] == b"x"
    for name in names:
        client.spublish(name, name)
    data = set()
    for _ in range(200):
        message = sharded.get_sharded_message(timeout=0.1)
        if message and message["type"] == "smessage":
            data.add(message["data"].decode())
        if len(data) == len(names):
            break
    assert data == set(names), data
    listening.close()
    sharded.close()


async def check_asynchronous(port: int) -> None:
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=port)
    # redis-py 8.1 now and then uses a connection that it is still opening if its very first requests run
    # side by side (seen with Redis too), so some go first.
    for number in range(100):
        await client.set(f"async{number}", number)
    # It opens a connection for each request under way, up to 100 a node.
    for begin in range(0, 300, 50):
        numbers = range(begin, begin + 50)
        await asyncio.gather(*(client.set(f"async{number}", number) for number in numbers))
        values = await asyncio.gather(*(client.get(f"async{number}") for number in numbers))
        assert values == [str(number).encode() for number in numbers]
    await client.aclose()


def main() -> None:
    for port in map(int, sys.argv[1:3]):
        for protocol in (2, 3):
            check(port, protocol)
        asyncio.run(check_asynchronous(port))


if __name__ == "__main__":
    main()
