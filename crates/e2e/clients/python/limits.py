"""redis-py and a user with limits; see ../README.md.

Usage: limits.py HOST:PORT USER PASSWORD COUNTER. The user may run few operations a second. Each INCR that is acknowledged is counted, and
the sum is printed: a refused one must not have been executed, nor sent again behind our back.
"""

import sys
import time

import redis
from redis.exceptions import ResponseError

WANTED = 200
PATIENCE = 60.0


def main() -> None:
    address, user, password, counter = sys.argv[1:5]
    host, port = address.rsplit(":", 1)
    client = redis.Redis(host=host, port=int(port), username=user, password=password)
    deadline = time.monotonic() + PATIENCE
    acknowledged = refused = aborted = 0
    while acknowledged < WANTED or not refused or not aborted:
        assert time.monotonic() < deadline, (acknowledged, refused, aborted)
        # One by one: each has its own reply, in its place.
        pipeline = client.pipeline(transaction=False)
        for _ in range(50):
            pipeline.incr(counter)
        for reply in pipeline.execute(raise_on_error=False):
            if isinstance(reply, ResponseError):
                assert str(reply).startswith("LIMIT user "), reply
                refused += 1
            else:
                acknowledged += 1
        # Together: all or none.
        pipeline = client.pipeline(transaction=True)
        for _ in range(5):
            pipeline.incr(counter)
        try:
            acknowledged += len(pipeline.execute())
        except ResponseError as error:
            assert "LIMIT user " in str(error), error
            aborted += 1
    print(acknowledged, refused, aborted)


main()
