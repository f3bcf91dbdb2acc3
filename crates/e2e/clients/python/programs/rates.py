"""Rate limiters: limits, Flask-Limiter, throttled-py."""

import flask
import flask_limiter
import limits
import limits.aio.storage
import limits.aio.strategies
import limits.storage
import limits.strategies
import throttled
from flask_limiter.util import get_remote_address
from register import Place, program

THREE = limits.parse("3/minute")


@program("limits", "fixed window: hit, test, window stats, clear")
def fixed_window(place: Place) -> None:
    limiter = limits.strategies.FixedWindowRateLimiter(limits.storage.storage_from_string(place.url()))
    assert [limiter.hit(THREE, "ann") for _ in range(4)] == [True, True, True, False] and limiter.hit(THREE, "bob")
    assert not limiter.test(THREE, "ann") and limiter.get_window_stats(THREE, "ann").remaining == 0
    limiter.clear(THREE, "ann")
    assert limiter.hit(THREE, "ann")


@program("limits", "sliding window of two counters")
def sliding_window(place: Place) -> None:
    limiter = limits.strategies.SlidingWindowCounterRateLimiter(limits.storage.storage_from_string(place.url()))
    assert [limiter.hit(THREE, "ann") for _ in range(4)] == [True, True, True, False] and limiter.hit(THREE, "bob")
    assert limiter.get_window_stats(THREE, "bob").remaining == 2


@program("limits", "moving window, which keeps each hit", needs="LINDEX")
def moving_window(place: Place) -> None:
    limiter = limits.strategies.MovingWindowRateLimiter(limits.storage.storage_from_string(place.url()))
    assert [limiter.hit(THREE, "ann") for _ in range(4)] == [True, True, True, False]


@program("limits, cluster", "fixed and sliding window, keys of one slot each")
def cluster_window(place: Place) -> None:
    seeds = ",".join(f"{host}:{port}" for host, port in place.seeds)
    storage = limits.storage.storage_from_string(f"redis+cluster://{seeds}")
    for kind in (limits.strategies.FixedWindowRateLimiter, limits.strategies.SlidingWindowCounterRateLimiter):
        limiter = kind(storage)
        for user in ("ann", "bob", "cat"):
            assert [limiter.hit(THREE, kind.__name__, user) for _ in range(4)] == [True, True, True, False]


@program("limits, asyncio", "fixed window")
async def asynchronous_window(place: Place) -> None:
    storage = limits.aio.storage.RedisStorage("async+" + place.url(), implementation="redispy")
    limiter = limits.aio.strategies.FixedWindowRateLimiter(storage)
    assert [await limiter.hit(THREE, "ann") for _ in range(4)] == [True, True, True, False]


@program("Flask-Limiter", "a route that answers 429 to the fourth, with its headers")
def flask_limiter_app(place: Place) -> None:
    app = flask.Flask(__name__)
    limiter = flask_limiter.Limiter(get_remote_address, app=app, storage_uri=place.url(), headers_enabled=True)

    @app.get("/")
    @limiter.limit("3/minute")
    def view() -> str:
        return "fine"

    replies = [app.test_client().get("/") for _ in range(4)]
    assert [it.status_code for it in replies] == [200, 200, 200, 429]
    assert [it.headers["X-RateLimit-Remaining"] for it in replies] == ["2", "1", "0", "0"]


@program("throttled-py", "fixed and sliding window, token bucket, leaking bucket, GCRA")
def throttled_py(place: Place) -> None:
    store = throttled.RedisStore(server=place.url())
    for kind in ("fixed_window", "sliding_window", "token_bucket", "leaking_bucket", "gcra"):
        limit = throttled.Throttled(key="ann", using=kind, quota=throttled.rate_limiter.per_min(3, burst=3), store=store)
        assert [limit.limit().limited for _ in range(4)] == [False, False, False, True], kind
        assert limit.peek("ann").remaining == 0, kind
