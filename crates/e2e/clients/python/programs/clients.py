"""Clients by themselves, as their makers' first pages have them: redis-py, valkey-py, valkey-glide, coredis."""

import asyncio
import threading
import time

import coredis
import glide
import glide_sync
import redis
import redis.asyncio
import valkey
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.cluster import ClusterNode
from redis.exceptions import LockError, WatchError
from register import Place, program


@program("redis-py", "strings: SET with its options, GETEX, INCR, MSET, MGET, APPEND, BITFIELD")
def strings(place: Place) -> None:
    client = place.client(decode_responses=True)
    assert client.set("a", "1", ex=100) and client.set("a", "2", nx=True) is None
    assert client.set("a", "5", xx=True, keepttl=True, get=True) == "1" and 0 < client.ttl("a") <= 100
    assert client.incr("a", 3) == 8 and client.incrbyfloat("f", 0.5) == 0.5 and client.decr("a") == 7
    assert client.mset({"b": "x", "c": "y"}) and client.mget("a", "b", "c", "d") == ["7", "x", "y", None]
    assert client.getex("b", persist=True) == "x" and client.getdel("b") == "x" and not client.exists("b")
    assert client.append("c", "z") == 2 and client.getrange("c", 1, 1) == "z"
    assert client.bitfield("bits").incrby("u8", "#1", 200, "SAT").incrby("u8", "#1", 200, "SAT").execute() == [200, 255]
    assert client.msetnx({"c": "1", "e": "2"}) is False and client.get("e") is None


@program("redis-py", "hashes: HSET of a mapping, HINCRBY, HSCAN, HEXPIRE, HGETEX, HGETDEL, HSETEX")
def hashes(place: Place) -> None:
    client = place.client(decode_responses=True)
    assert client.hset("user:1", mapping={"name": "ann", "visits": 1}) == 2
    assert client.hincrby("user:1", "visits", 2) == 3 and client.hget("user:1", "name") == "ann"
    assert dict(client.hscan_iter("user:1", match="n*")) == {"name": "ann"}
    assert client.hexpire("user:1", 100, "visits") == [1] and 0 < client.httl("user:1", "visits")[0] <= 100
    assert client.hgetex("user:1", "visits", persist=True) == ["3"] and client.httl("user:1", "visits") == [-1]
    assert client.hsetex("user:1", mapping={"token": "t"}, px=1) == 1
    while client.hexists("user:1", "token"):
        time.sleep(0.001)
    assert client.hgetdel("user:1", "name") == ["ann"] and client.hgetall("user:1") == {"visits": "3"}


@program("redis-py", "pipeline() as it is: a transaction, its keys anywhere")
def transaction(place: Place) -> None:
    client = place.client()
    with client.pipeline() as pipe:
        for number in range(50):
            pipe.set(f"k{number}", number).incr(f"k{number}")
        assert pipe.execute() == [True, *(reply for number in range(1, 50) for reply in (number, True)), 50]
    with client.pipeline() as pipe:
        pipe.set("k1", "x").hset("k2", "f", "v").set("k3", "x")
        replies = pipe.execute(raise_on_error=False)
    assert [type(it) for it in replies] == [bool, redis.ResponseError, bool] and "WRONGTYPE" in str(replies[1])


@program("redis-py", "pipeline(transaction=False): 2,000 commands in one round trip")
def pipeline(place: Place) -> None:
    with place.client().pipeline(transaction=False) as pipe:
        for number in range(1000):
            pipe.set(f"k{number}", number, ex=100).get(f"k{number}")
        assert pipe.execute()[1::2] == [b"%d" % number for number in range(1000)]


@program("redis-py", "transaction(): WATCH and try again, accounts on several slots, eight threads")
def watch(place: Place) -> None:
    client = place.client()
    client.mset({f"account:{number}": 100 for number in range(4)})

    def transfer(source: str, target: str) -> None:
        def move(pipe: redis.client.Pipeline) -> None:
            left, right = int(pipe.get(source)), int(pipe.get(target))
            pipe.multi()
            pipe.set(source, left - 1).set(target, right + 1)

        for _ in range(10):
            assert client.transaction(move, source, target) == [True, True]

    pairs = [(f"account:{number % 4}", f"account:{(number + 1) % 4}") for number in range(8)]
    threads = [threading.Thread(target=transfer, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.mget(f"account:{number}" for number in range(4)) == [b"100"] * 4
    with client.pipeline() as pipe:
        pipe.watch("account:0")
        client.set("account:0", 1)
        pipe.multi()
        pipe.set("account:1", 1)
        try:
            pipe.execute()
            raise AssertionError("another one's write went unseen")
        except WatchError:
            assert client.get("account:1") == b"100"


@program("redis-py", "lock(): waiting, extend, reacquire, release by its owner alone")
def lock(place: Place) -> None:
    client = place.client()
    with client.lock("job", timeout=10) as held:
        other = client.lock("job", timeout=10, blocking=False)
        assert not other.acquire() and held.owned() and held.extend(20) and held.reacquire()
    assert client.lock("job", timeout=0.05).acquire()
    with client.lock("job", timeout=10, blocking_timeout=5):
        pass
    lost = client.lock("job", timeout=10)
    assert lost.acquire()
    client.delete("job")
    try:
        lost.release()
        raise AssertionError("a lost lock was released")
    except LockError:
        pass


@program("redis-py", "pubsub(): channels and patterns with handlers, in a thread")
def channels(place: Place) -> None:
    client, heard, done = place.client(decode_responses=True), [], threading.Event()

    def hear(message: dict) -> None:
        heard.append((message["type"], message["channel"], message["data"]))
        if len(heard) == 4:
            done.set()

    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(**{"news": hear})
    listener.psubscribe(**{"n*": hear})
    thread = listener.run_in_thread(sleep_time=0.01)
    while client.pubsub_numsub("news") != [("news", 1)] or not client.pubsub_numpat():
        time.sleep(0.001)
    assert client.publish("news", "one") == 2
    client.publish("news", "two")
    assert done.wait(30)
    thread.stop()
    thread.join()
    assert sorted(heard) == [(kind, "news", word) for kind in ("message", "pmessage") for word in ("one", "two")]


@program("redis-py", "scan_iter() with MATCH and TYPE, over pages, and deleting what it finds")
def scan(place: Place) -> None:
    client = place.client()
    client.mset({f"s:{number}": number for number in range(300)})
    client.hset("s:hash", "f", "v")
    assert len(set(client.scan_iter("s:*", count=20))) == 301
    assert list(client.scan_iter(_type="HASH")) == [b"s:hash"]
    assert sum(client.delete(key) for key in client.scan_iter("s:?")) == 10 and client.dbsize() == 291


@program("redis-py", "register_script(), alone and in a pipeline, keys of several slots")
def script(place: Place) -> None:
    client = place.client()
    move = client.register_script(
        "local n = tonumber(redis.call('GET', KEYS[1]) or '0') if n < tonumber(ARGV[1]) then return redis.error_reply('POOR') end"
        " redis.call('DECRBY', KEYS[1], ARGV[1]) return {redis.call('INCRBY', KEYS[2], ARGV[1]), redis.status_reply('MOVED')}"
    )
    client.set("from", 10)
    assert move(["from", "to"], [4]) == [4, b"MOVED"]
    client.script_flush()
    with client.pipeline() as pipe:
        move(["from", "to"], [6], client=pipe)
        pipe.get("to")
        assert pipe.execute() == [[10, b"MOVED"], b"10"]
    try:
        move(["from", "to"], [1])
        raise AssertionError("what is not there was moved")
    except redis.ResponseError as error:
        assert "POOR" in str(error)


@program("redis-py", "RESP2 and RESP3, other tables by SELECT, a connection that was closed is opened again")
def connections(place: Place) -> None:
    for protocol in (2, 3):
        client = place.client(protocol=protocol, db=3)
        assert client.set("here", protocol) and place.client().get("here") is None
        client.client_setname("mine")
        number = client.client_id()
        place.client().client_kill_filter(_id=number)
        assert client.get("here") == b"%d" % protocol and client.client_id() != number
        client.close()


@program("redis-py", "keyspace notifications: a waiting program hears that a key expired")
def notifications(place: Place) -> None:
    client = place.client(decode_responses=True)
    for port in place.every_port():
        port.config_set("notify-keyspace-events", "KEA")
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("__keyevent@0__:expired")
    listener.get_message(timeout=10)
    client.set("session", "x", px=20)
    deadline = time.monotonic() + 30
    while not (message := listener.get_message(timeout=1)) and time.monotonic() < deadline:
        client.get("session")
    assert message and message["data"] == "session", message
    listener.close()
    for port in place.every_port():
        port.config_set("notify-keyspace-events", "")


@program("redis-py", "a queue: LPUSH, BRPOP", needs="LPUSH")
def queue(place: Place) -> None:
    client = place.client()
    client.lpush("queue", "job")
    assert client.brpop("queue", timeout=1) == (b"queue", b"job")


@program("redis-py", "tags: SADD, SINTER", needs="SADD")
def tags(place: Place) -> None:
    client = place.client()
    client.sadd("red", 1, 2)
    client.sadd("round", 2, 3)
    assert client.sinter("red", "round") == {b"2"}


@program("redis-py", "a leaderboard: ZADD, ZREVRANGE", needs="ZADD")
def leaderboard(place: Place) -> None:
    client = place.client()
    client.zadd("points", {"ann": 3, "bob": 5})
    assert client.zrevrange("points", 0, 0) == [b"bob"]


@program("redis-py", "an event log: XADD, XREAD", needs="XADD")
def stream(place: Place) -> None:
    client = place.client()
    client.xadd("events", {"kind": "login"})
    assert client.xread({"events": 0})


@program("redis-py, asyncio", "gather over a pool, pipeline, WATCH, lock, pub/sub")
async def asynchronous(place: Place) -> None:
    async with redis.asyncio.Redis(host=place.host, port=place.port, max_connections=20) as client:
        pool = asyncio.Semaphore(20)

        async def count(number: int) -> int:
            async with pool:
                return await client.incr(f"c{number % 5}")

        assert sorted(await asyncio.gather(*map(count, range(100))))[-5:] == [20] * 5
        async with client.pipeline() as pipe:
            assert await pipe.set("a", 1).incr("a").hset("h", "f", "v").execute() == [True, 2, 1]
            await pipe.watch("a")
            await client.set("a", 9)
            pipe.multi()
            try:
                await pipe.set("b", 1).execute()
                raise AssertionError("another one's write went unseen")
            except WatchError:
                pass
        async with client.lock("mutex", timeout=10):
            assert not await client.lock("mutex", timeout=10).acquire(blocking=False)
        async with client.pubsub(ignore_subscribe_messages=True) as listener:
            await listener.subscribe("news")
            await listener.get_message(timeout=10)
            await client.publish("news", "x")
            message = None
            while message is None:
                message = await listener.get_message(ignore_subscribe_messages=True, timeout=10)
            assert message["data"] == b"x"
        assert len([key async for key in client.scan_iter("c*")]) == 5


@program("redis-py, cluster", "single keys, MGET and MSET over slots, pipeline, SCAN of all masters")
def cluster(place: Place) -> None:
    client = redis.RedisCluster(startup_nodes=[ClusterNode(*seed) for seed in place.seeds], decode_responses=True)
    assert client.mset_nonatomic({f"k{number}": number for number in range(100)})
    assert client.mget_nonatomic(*(f"k{number}" for number in range(100))) == [str(number) for number in range(100)]
    with client.pipeline() as pipe:
        for number in range(100):
            pipe.incr(f"k{number}").get(f"k{number}")
        assert pipe.execute()[1::2] == [str(number + 1) for number in range(100)]
    assert len(set(client.scan_iter("k*"))) == 100 and client.dbsize(target_nodes=redis.RedisCluster.PRIMARIES) == 100
    assert client.delete(*(f"k{number}" for number in range(100))) == 100
    client.close()


@program("redis-py, cluster", "transactions, WATCH, scripts and locks of one slot; channels, also sharded")
def cluster_transactions(place: Place) -> None:
    client = redis.RedisCluster(startup_nodes=[ClusterNode(*seed) for seed in place.seeds])
    with client.pipeline(transaction=True) as pipe:
        pipe.watch("{a}n")
        pipe.multi()
        assert pipe.set("{a}n", 1).incr("{a}n").get("{a}n").execute()[1:] == [2, b"2"]
    add = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert [add([f"sum:{number}"], [number]) for number in range(20)] == list(range(20))
    with client.lock("{a}mutex", timeout=10):
        assert not client.lock("{a}mutex", timeout=10, blocking=False).acquire()
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.ssubscribe("orders")
    deadline, message = time.monotonic() + 30, None
    while message is None and time.monotonic() < deadline:
        client.spublish("orders", "x")
        message = listener.get_sharded_message(ignore_subscribe_messages=True, timeout=0.1)
    assert message and message["data"] == b"x"
    listener.close()
    client.close()


@program("redis-py, cluster, asyncio", "gather over bricks, pipeline, lock of one slot")
async def cluster_asynchronous(place: Place) -> None:
    nodes = [AsyncClusterNode(*seed) for seed in place.seeds]
    async with redis.asyncio.RedisCluster(startup_nodes=nodes) as client:
        # Redis-py 8.1 now and then uses a connection that it is still opening if its very first requests run side by side.
        for number in range(50):
            await client.set(f"k{number}", number)
        assert await asyncio.gather(*(client.incr(f"k{number}") for number in range(50))) == list(range(1, 51))
        async with client.pipeline() as pipe:
            for number in range(50):
                pipe.get(f"k{number}")
            assert await pipe.execute() == [b"%d" % number for number in range(1, 51)]
        async with client.lock("mutex", timeout=10) as held:
            assert await held.owned()


@program("valkey-py", "strings, transaction, script, lock")
def valkey_plain(place: Place) -> None:
    client = valkey.Valkey(host=place.host, port=place.port)
    with client.pipeline() as pipe:
        assert pipe.set("a", 1).incr("b", 2).hset("h", "f", "v").execute() == [True, 2, 1]
    assert client.eval("return redis.call('GET', KEYS[1])", 1, "a") == b"1"
    with client.lock("mutex", timeout=10):
        assert client.exists("mutex")
    assert not client.exists("mutex")


@program("valkey-py, cluster", "single keys, pipeline over slots, SCAN of all masters")
def valkey_cluster(place: Place) -> None:
    client = valkey.ValkeyCluster(startup_nodes=[valkey.cluster.ClusterNode(*seed) for seed in place.seeds])
    with client.pipeline() as pipe:
        for number in range(50):
            pipe.set(f"k{number}", number)
        assert all(pipe.execute())
    assert len(set(client.scan_iter())) == 50 and client.get("k7") == b"7"
    client.close()


@program("valkey-glide", "strings, hashes, an atomic batch, SCAN")
def glide_plain(place: Place) -> None:
    options = glide_sync.GlideClientConfiguration([glide_sync.NodeAddress(place.host, place.port)])
    client = glide_sync.GlideClient.create(options)
    assert client.set("a", "1") == "OK" and client.incrby("a", 4) == 5
    assert client.set("a", "x", conditional_set=glide_sync.ConditionalChange.ONLY_IF_DOES_NOT_EXIST) is None
    assert client.hset("h", {"f": "v"}) == 1 and client.hgetall("h") == {b"f": b"v"}
    batch = glide_sync.Batch(is_atomic=True)
    batch.set("b", "1")
    batch.incr("c")
    assert client.exec(batch, raise_on_error=True) == ["OK", 1]
    cursor, keys = client.scan("0", count=1000)
    assert cursor == b"0" and sorted(keys) == [b"a", b"b", b"c", b"h"]
    client.close()


@program("valkey-glide, cluster, asyncio", "single keys side by side, MGET and DEL over slots, a batch, a script")
async def glide_cluster(place: Place) -> None:
    addresses = [glide.NodeAddress(*seed) for seed in place.seeds]
    client = await glide.GlideClusterClient.create(glide.GlideClusterClientConfiguration(addresses))
    keys = [f"k{number}" for number in range(50)]
    assert await asyncio.gather(*(client.set(key, key) for key in keys)) == ["OK"] * 50
    assert await client.mget(keys) == [key.encode() for key in keys]
    batch = glide.ClusterBatch(is_atomic=False)
    for key in keys:
        batch.append(key, "!")
    assert await client.exec(batch, raise_on_error=True) == [len(key) + 1 for key in keys]
    script = glide.Script("return redis.call('GET', KEYS[1])")
    assert await client.invoke_script(script, keys=["k7"]) == b"k7!"
    assert await client.dbsize() == 50 and await client.delete(keys) == 50
    await client.close()


@program("coredis", "strings, pipeline, transaction with WATCH, script, pub/sub")
async def coredis_plain(place: Place) -> None:
    client = coredis.Redis(host=place.host, port=place.port, decode_responses=True)
    async with client:
        assert await client.set("a", "1") and await client.incr("a") == 2
        async with client.pipeline(transaction=True) as pipe:
            first, second = pipe.incr("a"), pipe.hset("h", {"f": "v"})
        assert (await first, await second) == (3, 1)
        double = client.register_script("return redis.call('GET', KEYS[1]) * 2")
        assert await double(keys=["a"]) == 6
        async with client.pubsub(channels=["news"]) as listener:
            assert (await listener.get_message(timeout=10))["type"] == "subscribe"
            await client.publish("news", "x")
            assert (await listener.get_message(timeout=10))["data"] == "x"


@program("coredis, cluster", "single keys, MGET over slots, pipeline")
async def coredis_cluster(place: Place) -> None:
    client = coredis.RedisCluster(startup_nodes=[{"host": host, "port": port} for host, port in place.seeds], decode_responses=True)
    async with client:
        for number in range(50):
            await client.set(f"k{number}", str(number))
        async with client.pipeline() as pipe:
            values = [pipe.get(f"k{number}") for number in range(50)]
        assert [await value for value in values] == [str(number) for number in range(50)]
