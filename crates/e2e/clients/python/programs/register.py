"""The table of programs: each is a function with a name, what it does, and what it needs that is not served.

In:  functions under `@program`, and a `Place` to run them at. Out: a line for each, of three columns with tabulators between.
Invariant: a program that needs a command fails by that command and nothing else, or it is no longer said to need it.
"""

import asyncio
import inspect
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import redis

# For one program; the longest takes a few seconds.
PATIENCE = 60


@dataclass
class Place:
    """A cluster: the node port of one of its nodes, and the bricks' ports of all."""

    host: str
    port: int
    seeds: list[tuple[str, int]]

    def url(self, table: int = 0) -> str:
        return f"redis://{self.host}:{self.port}/{table}"

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(host=self.host, port=self.port, **options)

    def every_port(self) -> list[redis.Redis]:
        return [redis.Redis(host, port) for host, port in [(self.host, self.port), *self.seeds]]

    def empty(self) -> None:
        for client in self.every_port():
            client.flushall()
            client.close()


@dataclass
class Program:
    client: str
    does: str
    needs: str | None
    run: Callable[[Place], object]


PROGRAMS: list[Program] = []


def program(client: str, does: str, needs: str | None = None) -> Callable[[Callable], Callable]:
    """Registers a function, in the order of the files; `needs` is the command that it fails by."""

    def add(run: Callable) -> Callable:
        PROGRAMS.append(Program(client, does, needs, run))
        return run

    return add


def texts(error: BaseException | None) -> Iterator[str]:
    """What an error says, and all that it came from."""
    if error is None:
        return
    yield str(error)
    for part in getattr(error, "exceptions", ()):
        yield from texts(part)
    yield from texts(error.__cause__ or error.__context__)


def is_unknown(command: str, error: BaseException) -> bool:
    """Whether the error is the server's word that it does not know the command."""
    for text in texts(error):
        if named := re.search(r"unknown command '(\w+)'", text, re.IGNORECASE):
            return named[1].upper() == command
        # A script's error does not name it.
        if "unknown redis command called from script" in text.lower():
            return True
    return False


def is_to_be_repeated(error: BaseException) -> bool:
    """Whether a partition changed hands meanwhile, which a busy machine does to a cluster. Applications go on by themselves then."""
    return any("try again" in text or "UNKNOWNRESULT" in text for text in texts(error))


def late(*_: object) -> None:
    raise TimeoutError(f"not done after {PATIENCE} s")


def attempt(program: Program, place: Place) -> Exception | None:
    """Runs it over an empty table, and gives what it failed by."""
    signal.alarm(PATIENCE)
    try:
        place.empty()
        result = program.run(place)
        if inspect.isawaitable(result):
            asyncio.run(result)
        return None
    except Exception as error:
        return error
    finally:
        signal.alarm(0)


def outcome(program: Program, place: Place) -> str:
    begin = time.monotonic()
    while error := attempt(program, place):
        if program.needs and is_unknown(program.needs, error):
            return f"needs {program.needs}"
        traceback.print_exception(error)
        if not is_to_be_repeated(error) or time.monotonic() - begin > PATIENCE:
            return "fails"
        print(f"again: {program.client}: {program.does}", file=sys.stderr)
    return "works"


def run(place: Place, only: str) -> bool:
    """Runs those whose client or effect has that in it; says whether none failed."""
    signal.signal(signal.SIGALRM, late)
    is_fine = True
    for program in PROGRAMS:
        if only in program.client + program.does:
            said = outcome(program, place)
            is_fine = is_fine and said != "fails"
            print(f"{program.client}\t{program.does}\t{said}", flush=True)
    return is_fine
