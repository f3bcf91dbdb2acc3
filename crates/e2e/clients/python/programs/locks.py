"""Locks: redlock-py, pottery's Redlock, python-redis-lock."""

import pottery
import redis_lock
import redlock
from register import Place, program


@program("redlock-py", "lock, refused to another, unlock by its owner alone")
def redlock_py(place: Place) -> None:
    locks = redlock.Redlock([{"host": place.host, "port": place.port}], retry_count=1)
    held = locks.lock("job", 10_000)
    assert held and not locks.lock("job", 10_000)
    locks.unlock(held._replace(key=b"another one's"))
    assert not locks.lock("job", 10_000)
    locks.unlock(held)
    assert locks.lock("job", 10_000)


@program("pottery", "Redlock: acquire, locked, extend, release; a synchronized function")
def pottery_lock(place: Place) -> None:
    masters = {place.client()}
    held = pottery.Redlock(key="job", masters=masters, auto_release_time=10)
    assert held.acquire() and not pottery.Redlock(key="job", masters=masters).acquire(blocking=False)
    assert 0 < held.locked() <= 10
    held.extend()
    held.release()
    assert not held.locked()

    @pottery.synchronize(key="once", masters=masters, auto_release_time=10, blocking=True, timeout=5)
    def work() -> str:
        return "done"

    assert work() == work() == "done"


@program("python-redis-lock", "acquire, extend; release wakes those who wait by a list", needs="LPUSH")
def python_redis_lock(place: Place) -> None:
    held = redis_lock.Lock(place.client(), "job", expire=10)
    assert held.acquire(blocking=False) and not redis_lock.Lock(place.client(), "job").acquire(blocking=False)
    held.extend(20)
    held.release()
    assert redis_lock.Lock(place.client(), "job", expire=10).acquire(blocking=False)
