"""redis-py's RedisCluster client over a table whose keys are where slots do not say (HASH).

Usage: hash_functions.py USER BRICK_PORT... where USER names the table behind a `+`. Says how often it was redirected; exits with 0 if
everything holds.
"""

import sys

import redis

redirected = 0


class Counted(redis.exceptions.MovedError):
    """A redirect that is counted: one that leads round in circles would be counted often."""

    def __init__(self, *arguments: object) -> None:
        global redirected
        redirected += 1
        super().__init__(*arguments)


def check(user: str, port: int, keys: int) -> None:
    client = redis.RedisCluster.from_url(f"redis://{user}:x@127.0.0.1:{port}")
    everywhere = redis.RedisCluster.PRIMARIES
    client.flushall(target_nodes=everywhere)
    names = [f"user:{number:06d}" for number in range(0, 1_000_000, 1_000_000 // keys)]
    for name in names:
        assert client.set(name, name)
    for name in names:
        assert client.get(name) == name.encode()
    assert client.dbsize(target_nodes=everywhere) == keys
    assert set(client.scan_iter(count=20)) == {name.encode() for name in names}
    assert len(client.keys("user:*", target_nodes=everywhere)) == keys
    assert client.mget_nonatomic(*names) == [name.encode() for name in names]
    assert client.mset_nonatomic({name: "new" for name in names})
    assert client.exists(*names) == keys
    # Keys of one tag, in one transaction, in one script.
    tagged = [f"{{cart}}:{number}" for number in range(20)]
    with client.pipeline(transaction=True) as pipeline:
        for name in tagged:
            pipeline.incr(name)
        assert pipeline.execute() == [1] * len(tagged)
    text = "for _, key in ipairs(KEYS) do redis.call('incr', key) end return #KEYS"
    assert client.eval(text, len(tagged), *tagged) == len(tagged)
    assert client.mget(tagged) == [b"2"] * len(tagged)
    assert client.rename(tagged[0], "{cart}:renamed")
    with client.pipeline() as pipeline:
        for name in names:
            pipeline.append(name, "er")
        assert pipeline.execute() == [5] * keys
    assert client.delete(*names) == keys
    assert client.flushall(target_nodes=everywhere)
    assert client.dbsize(target_nodes=everywhere) == 0
    client.close()


def main() -> None:
    redis.exceptions.MovedError = Counted
    for parsers in (redis._parsers.base.BaseParser, redis._parsers.BaseParser):
        parsers.EXCEPTION_CLASSES["MOVED"] = Counted
    user, ports = sys.argv[1], list(map(int, sys.argv[2:]))
    for port in ports:
        check(user, port, 500)
    print(f"redirected {redirected} times")


if __name__ == "__main__":
    main()
