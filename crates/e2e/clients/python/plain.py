"""redis-py's Redis client against the node port: plain commands, pipelines, transactions, both protocols.

Usage: plain.py NODE_PORT BRICK_PORT. Exits with 0 if everything holds.
"""

import sys
import threading
import time

import redis


def check_strings(client: redis.Redis) -> None:
    assert client.set("k", "v") is True
    assert client.get("k") == b"v"
    assert client.get("nosuch") is None
    assert client.set("k", "w", nx=True) is None
    assert client.set("k", "w", xx=True, get=True) == b"v"
    assert client.append("k", "x") == 2
    assert client.getrange("k", 0, 0) == b"w"
    assert client.incr("n", 41) == 41
    assert client.incrbyfloat("f", 1.5) == 1.5
    assert client.setbit("bits", 7, 1) == 0
    assert client.bitcount("bits") == 1
    assert client.bitfield("bits").set("u8", "#0", 255).get("u4", 0).execute() == [1, 15]
    binary = bytes(range(256)) * 100
    assert client.set("binary", binary) and client.get("binary") == binary


def check_hashes(client: redis.Redis) -> None:
    assert client.hset("h", "name", "ann") == 1
    assert client.hset("h", mapping={"age": 41, "town": "Ulm"}) == 2
    assert client.hgetall("h") == {b"name": b"ann", b"age": b"41", b"town": b"Ulm"}
    assert client.hmget("h", "name", "nosuch") == [b"ann", None]
    assert client.hincrby("h", "age") == 42 and client.hincrbyfloat("h", "weight", 1.5) == 1.5
    assert client.hexists("h", "town") and client.hlen("h") == 4 and client.hstrlen("h", "name") == 3
    assert client.hsetnx("h", "name", "bob") == 0
    assert client.hdel("h", "weight", "nosuch") == 1
    assert set(client.hkeys("h")) == {b"name", b"age", b"town"} and b"42" in client.hvals("h")
    assert client.hrandfield("h") in client.hkeys("h") and len(client.hrandfield("h", -7)) == 7
    client.hset("many", mapping={f"f{number}": number for number in range(3000)})
    assert dict(client.hscan_iter("many")) == {f"f{number}".encode(): str(number).encode() for number in range(3000)}
    assert client.hexpire("h", 100, "town") == [1] and 0 < client.httl("h", "town")[0] <= 100
    assert client.hpersist("h", "town") == [1]
    assert client.hpexpire("h", 1, "town") == [1]
    while client.hexists("h", "town"):
        time.sleep(0.001)
    assert client.type("h") == b"hash" and client.object("encoding", "h") in (b"listpack", b"listpackex")
    copy = client.dump("h")
    assert client.restore("copied", 0, copy) and client.hgetall("copied") == client.hgetall("h")
    try:
        client.get("h")
        raise AssertionError("a hash was read as a string")
    except redis.ResponseError as error:
        assert str(error).startswith("WRONGTYPE"), error


def check_keys(client: redis.Redis) -> None:
    client.flushall()
    names = {f"key:{number}".encode() for number in range(500)}
    assert client.mset({name: name for name in names}) is True
    assert client.dbsize() == 500
    assert set(client.keys("*")) == names
    assert set(client.scan_iter(match="*", count=33)) == names
    assert client.mget(["key:1", "nosuch", "key:499"]) == [b"key:1", None, b"key:499"]
    assert client.exists("key:1", "key:2", "nosuch") == 2
    assert client.randomkey() in names
    assert client.type("key:1") == b"string"
    assert client.expire("key:1", 100) and 0 < client.ttl("key:1") <= 100
    assert client.persist("key:1") and client.ttl("key:1") == -1
    assert client.pexpire("key:2", 1)
    while client.exists("key:2"):
        time.sleep(0.001)
    assert client.delete("key:1", "key:3", "nosuch") == 2
    assert client.rename("{t}a", "{t}b") if client.set("{t}a", 1) else False
    assert client.copy("{t}b", "{t}c") and client.get("{t}c") == b"1"
    assert client.memory_usage("{t}c") > 0
    assert client.object("encoding", "{t}c") == b"int"


def check_pipelines(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipeline:
        for number in range(1000):
            pipeline.set(f"p:{number}", number)
        for number in range(1000):
            pipeline.get(f"p:{number}")
        replies = pipeline.execute()
    assert replies[:1000] == [True] * 1000
    assert replies[1000:] == [str(number).encode() for number in range(1000)]
    with client.pipeline() as transaction:
        transaction.set("{t}x", 1).incr("{t}x").get("{t}x")
        assert transaction.execute() == [True, 2, b"2"]
    with client.pipeline() as transaction:
        transaction.watch("{t}x")
        client.set("{t}x", "changed behind its back")
        transaction.multi()
        transaction.set("{t}x", "lost")
        try:
            transaction.execute()
            raise AssertionError("a transaction with a changed key went through")
        except redis.WatchError:
            pass


def check_transactions(client: redis.Redis) -> None:
    """Transactions over keys of many slots: pipelines as they are by default, and what people build of them."""
    with client.pipeline() as pipeline:
        for number in range(100):
            pipeline.set(f"m:{number}", number)
            pipeline.hset(f"h:{number}", "f", number)
        for number in range(100):
            pipeline.incr(f"m:{number}")
        replies = pipeline.execute()
    assert replies[200:] == list(range(1, 101))
    assert client.hget("h:99", "f") == b"99"

    def move(pipeline: redis.client.Pipeline) -> None:
        left, right = int(pipeline.get("m:1")), int(pipeline.get("m:2"))
        pipeline.multi()
        pipeline.set("m:1", left - 1).set("m:2", right + 1)

    assert client.transaction(move, "m:1", "m:2") == [True, True]
    assert client.mget("m:1", "m:2") == [b"1", b"4"]
    with client.pipeline() as transaction:
        transaction.watch("m:1", "m:2")
        client.set("m:2", "changed behind its back")
        transaction.multi()
        transaction.set("m:1", "lost")
        try:
            transaction.execute()
            raise AssertionError("a transaction with a changed key went through")
        except redis.WatchError:
            pass
    assert client.msetnx({"n:1": 1, "n:2": 2}) and not client.msetnx({"n:2": 3, "n:3": 3})
    assert client.exists("n:3") == 0
    assert client.rename("n:1", "r:1") and client.exists("n:1") == 0 and client.get("r:1") == b"1"
    assert client.copy("r:1", "r:2") and client.get("r:2") == b"1"
    assert client.bitop("OR", "r:3", "r:1", "n:2") == 1 and client.get("r:3") == b"3"
    swap = client.register_script(
        "local left = redis.call('get', KEYS[1]) redis.call('set', KEYS[1], redis.call('get', KEYS[2])) "
        "redis.call('set', KEYS[2], left) return left"
    )
    assert swap(keys=["r:1", "n:2"]) == b"1" and client.mget("r:1", "n:2") == [b"2", b"1"]


def check_locks(client: redis.Redis) -> None:
    """A lock of SET NX, as people build it, and a counter under it."""
    client.set("counter", 0)

    def work() -> None:
        for _ in range(20):
            while not client.set("lock", threading.get_ident(), nx=True, px=10_000):
                pass
            client.set("counter", int(client.get("counter")) + 1)
            client.delete("lock")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("counter") == b"80"


INCREMENT_ONCE = """
local seen = redis.call('get', KEYS[2])
if seen == ARGV[1] then return -1 end
redis.call('set', KEYS[2], ARGV[1])
return redis.call('incrby', KEYS[1], ARGV[2])
"""

# A sliding window: so many calls in so many milliseconds.
LIMIT = """
local calls = redis.call('incr', KEYS[1])
if calls == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) end
if calls > tonumber(ARGV[1]) then return {0, redis.call('pttl', KEYS[1])} end
return {1, tonumber(ARGV[1]) - calls}
"""


def check_scripts(client: redis.Redis) -> None:
    """Scripts as redis-py sends them, and its lock, which is three of them."""
    client.delete("{s}n", "{s}seen", "limited", "mutex")
    once = client.register_script(INCREMENT_ONCE)
    assert once(keys=["{s}n", "{s}seen"], args=["a", 5]) == 5
    assert once(keys=["{s}n", "{s}seen"], args=["a", 5]) == -1
    client.script_flush()
    # It is not known any more: redis-py sends it again.
    assert once(keys=["{s}n", "{s}seen"], args=["b", 2]) == 7
    assert client.script_exists(once.sha) == [True]
    with client.pipeline() as pipeline:
        pipeline.set("{s}x", 1)
        once(keys=["{s}n", "{s}seen"], args=["c", 1], client=pipeline)
        pipeline.get("{s}n")
        assert pipeline.execute() == [True, 8, b"8"]
    limit = client.register_script(LIMIT)
    allowed = [limit(keys=["limited"], args=[3, 60_000])[0] for _ in range(5)]
    assert allowed == [1, 1, 1, 0, 0], allowed

    lock = client.lock("mutex", timeout=10)
    assert lock.acquire()
    other = client.lock("mutex", timeout=10)
    assert not other.acquire(blocking=False)
    assert lock.extend(10) and 10_000 < client.pttl("mutex") <= 20_000
    assert lock.reacquire() and client.pttl("mutex") <= 10_000
    try:
        other.do_release("of somebody else")
        raise AssertionError("a lock was released by one who has not got it")
    except redis.exceptions.LockNotOwnedError:
        pass
    lock.release()
    assert client.get("mutex") is None
    client.set("counter", 0)

    def work() -> None:
        for _ in range(20):
            with client.lock("mutex", timeout=10, sleep=0.001):
                client.set("counter", int(client.get("counter")) + 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("counter") == b"80"


def check_server(client: redis.Redis) -> None:
    info = client.info()
    for field in ("redis_version", "used_memory", "connected_clients", "uptime_in_seconds", "role"):
        assert field in info, field
    assert client.client_id() > 0
    assert client.client_setname("tester") and client.client_getname() in ("tester", b"tester")
    assert any(entry["name"] == "tester" for entry in client.client_list())
    assert client.config_get("maxmemory")
    assert client.time()[0] > 1_500_000_000
    assert client.command_count() > 80
    assert len(client.command_getkeys("MSET", "a", 1, "b", 2)) == 2
    assert client.slowlog_len() >= 0
    assert client.ping() and client.echo("x") == b"x"
    assert client.lastsave() is not None


def check_errors(client: redis.Redis) -> None:
    client.set("text", "abc")
    for call in (
        lambda: client.incr("text"),
        lambda: client.execute_command("GET"),
        lambda: client.execute_command("NOSUCH"),
        lambda: client.lpush("k", 1),
    ):
        try:
            call()
            raise AssertionError("no error was raised")
        except redis.ResponseError:
            pass


def check_tables(client: redis.Redis, port: int) -> None:
    assert client.execute_command("TABLE", "CREATE", "py") in (True, b"OK")
    other = redis.Redis(port=port, single_connection_client=True)
    other.execute_command("TABLE", "USE", "py")
    other.set("only here", 1)
    assert client.get("only here") is None
    url = f"redis://default+py:x@127.0.0.1:{port}"
    assert redis.Redis.from_url(url).get("only here") == b"1"
    assert redis.Redis(port=port, db=4).set("in four", 1)
    assert client.get("in four") is None
    assert redis.Redis(port=port, db=4).get("in four") == b"1"


def check_channels(client: redis.Redis, port: int) -> None:
    """Channels as redis-py listens to them: messages, patterns, a thread, and pipelines that publish."""
    listening = client.pubsub(ignore_subscribe_messages=True)
    listening.subscribe("news", "sport")
    listening.psubscribe("n*")
    assert listening.get_message(timeout=5) is None and listening.get_message(timeout=5) is None
    other = redis.Redis(port=port)
    assert other.publish("sport", "one") == 1
    message = next_message(listening)
    assert (message["type"], message["channel"], message["data"]) == ("message", b"sport", b"one")
    assert other.publish("news", b"\x00\r\n") == 2
    both = {next_message(listening)["type"] for _ in range(2)}
    assert both == {"message", "pmessage"}, both
    assert other.pubsub_channels() == [b"news", b"sport"]
    assert other.pubsub_numsub("news", "none") == [(b"news", 1), (b"none", 0)]
    assert other.pubsub_numpat() == 1
    listening.ping()
    listening.punsubscribe()
    listening.unsubscribe("news")
    with other.pipeline() as pipeline:
        pipeline.set("{p}k", 1)
        pipeline.publish("sport", "in a transaction")
        assert pipeline.execute() == [True, 1]
    assert next_message(listening)["data"] == b"in a transaction"
    listening.close()
    deadline = time.monotonic() + 10
    while other.pubsub_channels():
        assert time.monotonic() < deadline, other.pubsub_channels()

    heard = threading.Event()
    listening = client.pubsub()
    listening.subscribe(call=lambda message: heard.set())
    thread = listening.run_in_thread(sleep_time=0.01)
    while not other.publish("call", "x"):
        assert time.monotonic() < deadline
    assert heard.wait(10)
    thread.stop()
    thread.join()
    with client.lock("blocked", timeout=10):
        pass


def next_message(listening) -> dict:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        message = listening.get_message(timeout=1)
        if message and message["type"] != "pong":
            return message
    raise AssertionError("no message came")


def main() -> None:
    port = int(sys.argv[1])
    for protocol in (2, 3):
        client = redis.Redis(port=port, protocol=protocol)
        client.flushall()
        check_strings(client)
        check_hashes(client)
        check_keys(client)
        check_pipelines(client)
        check_transactions(client)
        check_locks(client)
        check_scripts(client)
        check_channels(client, port)
        check_errors(client)
        check_server(redis.Redis(port=port, protocol=protocol, single_connection_client=True))
    text = redis.Redis(port=port, decode_responses=True)
    assert text.set("text", "gr\u00fc\u00dfe") and text.get("text") == "gr\u00fc\u00dfe"
    check_tables(redis.Redis(port=port), port)


if __name__ == "__main__":
    main()
