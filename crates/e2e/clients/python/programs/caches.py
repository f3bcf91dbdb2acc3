"""Caches: Django's own and django-redis, Flask-Caching, cachelib, aiocache, dogpile.cache, cashews, pottery's dictionaries."""

import time
import warnings

import aiocache
import aiocache.lock
import cachelib
import cashews
import django
import dogpile.cache
import flask
import flask_caching
import pottery
from django.conf import settings
from django.core.cache import caches
from register import Place, program


def of_django(place: Place) -> None:
    """Configures Django once: it has one configuration a process."""
    if settings.configured:
        return
    settings.configure(
        SECRET_KEY="of a test",
        SESSION_ENGINE="django.contrib.sessions.backends.cache",
        CACHES={
            "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": place.url(1)},
            "other": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": place.url(2)},
        },
    )
    django.setup()


@program("Django's cache", "add, set_many, get_many, get_or_set, incr, touch, versions, delete_many, clear")
def djangos_cache(place: Place) -> None:
    of_django(place)
    cache = caches["default"]
    cache.clear()
    assert cache.add("a", {"deep": [1]}) and not cache.add("a", 2) and cache.get("a") == {"deep": [1]}
    assert cache.set_many({"b": 1, "c": "x"}, timeout=100) == [] and cache.get_many(["b", "c", "d"]) == {"b": 1, "c": "x"}
    assert cache.incr("b", 5) == 6 and cache.decr("b") == 5 and cache.get_or_set("e", lambda: 7, 100) == 7
    assert cache.touch("b", 200) and not cache.touch("nothing") and cache.has_key("b")
    cache.set("b", "new", version=2)
    assert cache.get("b") == 5 and cache.get("b", version=2) == "new" and cache.incr_version("c") == 2
    cache.set("short", 1, timeout=1)
    deadline = time.monotonic() + 30
    while cache.get("short") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cache.delete_many(["a", "b"])
    assert cache.get("a") is None and cache.get("e") == 7
    cache.clear()
    assert cache.get("e") is None


@program("Django's cache", "sessions in it: written, read, renamed at sign-in, flushed")
def djangos_sessions(place: Place) -> None:
    of_django(place)
    from django.contrib.sessions.backends.cache import SessionStore

    session = SessionStore()
    session["user"] = 7
    session.set_expiry(100)
    session.save()
    again = SessionStore(session.session_key)
    assert again["user"] == 7 and again.exists(session.session_key)
    again.cycle_key()
    assert again.session_key != session.session_key and SessionStore(again.session_key)["user"] == 7
    again.flush()
    assert "user" not in SessionStore(session.session_key)


@program("django-redis", "nx, ttl, persist, incr, set_many, iter_keys, delete_pattern, lock, hashes")
def django_redis(place: Place) -> None:
    of_django(place)
    cache = caches["other"]
    cache.clear()
    assert cache.set("a", {"x": 1}, timeout=100, nx=True) and not cache.set("a", 2, nx=True)
    assert 0 < cache.ttl("a") <= 100 and cache.persist("a") and cache.ttl("a") is None and cache.expire("a", timeout=50)
    cache.set_many({f"user:{number}": number for number in range(20)})
    assert cache.incr("user:7", 2) == 9 and cache.get_many(["user:7", "user:8"]) == {"user:7": 9, "user:8": 8}
    assert len(list(cache.iter_keys("user:*"))) == 20 and len(cache.keys("user:?")) == 10
    assert cache.delete_pattern("user:1?") == 10 and cache.get("user:9") == 9
    with cache.lock("busy", timeout=10):
        assert not cache.lock("busy", timeout=10, blocking=False).acquire()
    assert cache.hset("h", "f", [1]) == 1 and cache.hlen("h") == 1 and cache.hkeys("h") == ["f"] and cache.hdel("h", "f") == 1
    cache.clear()
    assert cache.get("a") is None


@program("Flask-Caching", "a cached view, memoize and delete_memoized, set_many, clear")
def flask_cache(place: Place) -> None:
    app = flask.Flask(__name__)
    cache = flask_caching.Cache(app, config={"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": place.url()})
    calls = []

    @app.get("/")
    @cache.cached(timeout=100, query_string=True)
    def view() -> str:
        calls.append("view")
        return str(len(calls))

    @cache.memoize(100)
    def square(number: int) -> int:
        calls.append(number)
        return number * number

    client = app.test_client()
    assert [client.get("/").text, client.get("/").text, client.get("/?q=1").text] == ["1", "1", "2"]
    with app.app_context():
        assert square(3) == square(3) == 9 and calls[2:] == [3]
        cache.delete_memoized(square)
        assert square(3) == 9 and calls[2:] == [3, 3]
        assert cache.set_many({"a": 1, "b": [2]}) and cache.get_many("a", "b", "c") == [1, [2], None]
        assert cache.add("a", 2) is False and cache.delete_many("a", "b")
        cache.clear()
    assert client.get("/").text == "5"


@program("cachelib", "set, add, inc, get_dict, set_many, delete_many, has, clear")
def werkzeugs_cache(place: Place) -> None:
    cache = cachelib.RedisCache(place.host, place.port, default_timeout=100, key_prefix="app:")
    assert cache.set("a", {"x": 1}) and not cache.add("a", 2) and cache.get("a") == {"x": 1}
    assert cache.set("n", 1) and cache.inc("n", 2) == 3 and cache.dec("n") == 2
    assert cache.set_many({"b": 1, "c": 2}) and cache.get_dict("a", "b", "d") == {"a": {"x": 1}, "b": 1, "d": None}
    assert set(cache.delete_many("b", "c")) == {"b", "c"} and not cache.has("b")
    assert cache.clear() and cache.get("a") is None


@program("aiocache", "multi_set with a time, increment, compare and set, a lock against stampedes, clear")
async def aio_cache(place: Place) -> None:
    async with aiocache.Cache(aiocache.Cache.REDIS, endpoint=place.host, port=place.port, namespace="app") as cache:
        await cache.multi_set([("a", 1), ("b", "x")], ttl=100)
        assert await cache.multi_get(["a", "b", "c"]) == [1, "x", None]
        assert await cache.increment("n", 3) == 3 and await cache.exists("n")
        async with aiocache.lock.RedLock(cache, "a", lease=5):
            await cache.set("a", 2)
        async with aiocache.lock.OptimisticLock(cache, "a") as seen:
            await seen.cas(5)
        assert await cache.get("a") == 5
        try:
            async with aiocache.lock.OptimisticLock(cache, "a") as seen:
                await cache.set("a", 6)
                await seen.cas(7)
            raise AssertionError("another one's write went unseen")
        except aiocache.lock.OptimisticLockError:
            pass
        await cache.clear(namespace="app")
        assert await cache.get("a") is None


@program("dogpile.cache", "get_or_create under a distributed lock, set_multi, invalidate")
def dogpile_cache(place: Place) -> None:
    region = dogpile.cache.make_region().configure(
        "dogpile.cache.redis",
        expiration_time=100,
        arguments={"host": place.host, "port": place.port, "distributed_lock": True, "redis_expiration_time": 200, "thread_local_lock": False},
    )
    made = []

    @region.cache_on_arguments()
    def square(number: int) -> int:
        made.append(number)
        return number * number

    assert square(3) == square(3) == 9 and made == [3]
    square.invalidate(3)
    assert square(3) == 9 and made == [3, 3]
    region.set_multi({"a": 1, "b": [2]})
    assert region.get_multi(["a", "b", "c"]) == [1, [2], dogpile.cache.api.NO_VALUE]
    region.delete_multi(["a", "b"])
    assert region.get("a") is dogpile.cache.api.NO_VALUE


@program("cashews", "a cached function, a lock, set_many, incr, delete_match, a fixed-window limit")
async def cashews_cache(place: Place) -> None:
    cache = cashews.Cache()
    cache.setup(place.url(), suppress=False)
    made = []

    @cache(ttl="1m", key="square:{number}", lock=True)
    async def square(number: int) -> int:
        made.append(number)
        return number * number

    @cache.rate_limit(limit=3, period="1m")
    async def limited() -> int:
        return 1

    assert await square(3) == await square(3) == 9 and made == [3]
    assert await cache.delete_match("square:*") is None and await square(3) == 9 and made == [3, 3]
    await cache.set_many({"a": 1, "b": "x"}, expire="1m")
    assert await cache.get_many("a", "b", "c") == (1, "x", None) and await cache.incr("n") == 1
    async with cache.lock("mutex", expire=10):
        assert await cache.is_locked("mutex")
    for _ in range(3):
        await limited()
    try:
        await limited()
        raise AssertionError("a fourth was let in")
    except cashews.RateLimitError:
        pass
    await cache.clear()
    assert await cache.get("a") is None
    await cache.close()


@program("cashews", "tags of cached values, deleted by tag", needs="SADD")
async def cashews_tags(place: Place) -> None:
    cache = cashews.Cache()
    cache.setup(place.url(), suppress=False)
    try:
        cache.register_tag("users", "user:{number}")
        await cache.set("user:1", "ann", expire="1m", tags=["users"])
        await cache.delete_tags("users")
        assert await cache.get("user:1") is None
    finally:
        await cache.close()


warnings.simplefilter("ignore", pottery.InefficientAccessWarning)


@program("pottery", "a dictionary, a counter, a cached function and ids in sequence, kept in Redis")
def pottery_dictionary(place: Place) -> None:
    client = place.client()
    ages = pottery.RedisDict({"ann": 41}, redis=client, key="ages")
    ages["bob"] = 7
    ages.update(cat=9)
    assert ages == {"ann": 41, "bob": 7, "cat": 9} and ages.pop("bob") == 7 and len(ages) == 2
    votes = pottery.RedisCounter("abracadabra", redis=client, key="votes")
    votes["a"] += 1
    assert votes["a"] == 6 and votes["b"] == 2
    made = []

    @pottery.redis_cache(redis=client, key="squares")
    def square(number: int) -> int:
        made.append(number)
        return number * number

    assert square(3) == square(3) == 9 and made == [3] and square.cache_info().hits == 1
    ids = pottery.NextID(key="ids", masters={client})
    assert [next(ids), next(ids)] == [1, 2]


@program("pottery", "a list kept in Redis", needs="RPUSH")
def pottery_list(place: Place) -> None:
    squares = pottery.RedisList([1, 4], redis=place.client(), key="squares")
    squares.append(9)
    assert squares == [1, 4, 9]


@program("pottery", "a set kept in Redis", needs="SADD")
def pottery_set(place: Place) -> None:
    assert 1 in pottery.RedisSet({1, 2}, redis=place.client(), key="numbers")
