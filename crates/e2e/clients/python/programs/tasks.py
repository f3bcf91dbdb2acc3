"""Queues of tasks and their results: Celery, huey, RQ."""

import celery
import celery.contrib.testing.worker
import huey
import huey.exceptions
import rq
from register import Place, program


def application(place: Place, broker: str) -> celery.Celery:
    app = celery.Celery(broker=broker, backend=place.url())
    # A broker in memory is asked once a second, unless it is told otherwise.
    app.conf.update(result_expires=100, broker_transport_options={"polling_interval": 0.01})

    @app.task(name="add")
    def add(left: int, right: int) -> int:
        return left + right

    @app.task(name="fail")
    def fail() -> None:
        raise ValueError("no")

    return app


def worker(app: celery.Celery) -> object:
    return celery.contrib.testing.worker.start_worker(app, perform_ping_check=False, pool="solo", loglevel="ERROR", shutdown_timeout=30)


@program("Celery", "its result store: results awaited over a channel, of a failure, of a group, forgotten")
def celery_results(place: Place) -> None:
    app = application(place, "memory://")
    add = app.tasks["add"]
    with worker(app):
        assert add.delay(2, 3).get(timeout=30) == 5
        failed = app.tasks["fail"].delay()
        assert isinstance(failed.get(timeout=30, propagate=False), ValueError) and failed.state == "FAILURE"
        assert celery.group(add.s(number, 1) for number in range(5)).delay().get(timeout=30) == [1, 2, 3, 4, 5]
        last = (add.s(1, 2) | add.s(10)).delay()
        assert last.get(timeout=30) == 13 and last.parent.result == 3
        saved = celery.group(add.s(1, 1), add.s(2, 2)).delay()
        saved.save()
        assert celery.result.GroupResult.restore(saved.id, app=app).get(timeout=30) == [2, 4]
    key = f"celery-task-meta-{last.id}"
    assert 0 < place.client().ttl(key) <= 100
    last.forget()
    assert not place.client().exists(key)


@program("Celery", "a chord: what its parts return is kept in a sorted set", needs="ZADD")
def celery_chord(place: Place) -> None:
    app = application(place, "memory://")
    # What a worker does when a part is done.
    app.backend.apply_chord((app.backend.app.GroupResult("group", []).id, []), app.signature("add"), size=2)
    request = celery.app.task.Context(id="part", group="group", group_index=0, chord=app.signature("add", options={"chord_size": 2}))
    app.backend.on_chord_part_return(request, "SUCCESS", 1)


@program("Celery", "its broker: a task is sent", needs="LLEN")
def celery_broker(place: Place) -> None:
    application(place, place.url()).tasks["add"].apply_async((2, 3), retry=False)


@program("huey", "its store: results, keys set once, a lock")
def huey_store(place: Place) -> None:
    tasks = huey.RedisHuey("app", url=place.url(), blocking=False)
    tasks.put("report", {"rows": 3})
    assert tasks.get("report", peek=True) == {"rows": 3} and tasks.get("report") == {"rows": 3} and tasks.get("report") is None
    assert tasks.put_if_empty("once", 1) and not tasks.put_if_empty("once", 2)
    with tasks.lock_task("backup"):
        try:
            with tasks.lock_task("backup"):
                raise AssertionError("a held lock was given again")
        except huey.exceptions.TaskLockedException:
            pass
    with tasks.lock_task("backup"):
        pass
    assert tasks.result_count() == 1


@program("huey", "its queue: a task is sent and run", needs="LPUSH")
def huey_queue(place: Place) -> None:
    tasks = huey.RedisHuey("app", url=place.url(), blocking=False)

    @tasks.task()
    def add(left: int, right: int) -> int:
        return left + right

    result = add(2, 3)
    tasks.execute(tasks.dequeue())
    assert result(preserve=True) == 5


@program("RQ", "a job is sent and run", needs="SADD")
def rq_queue(place: Place) -> None:
    queue = rq.Queue("default", connection=place.client())
    job = queue.enqueue("math.factorial", 5)
    rq.SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")
    assert job.return_value() == 120
