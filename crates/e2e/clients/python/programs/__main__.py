"""Clients of Python, and real programs on top of them, each at one thing that it is used for; see ../../README.md.

Usage: programs NODE_PORT SEEDS [ONLY].
"""

import sys

import clients, caches, sessions, locks, rates, tasks  # noqa: E401, F401: each registers its programs, in this order
from register import Place, run


def address(text: str) -> tuple[str, int]:
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main() -> None:
    (host, port), seeds = address(sys.argv[1]), [address(it) for it in sys.argv[2].split(",")]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    sys.exit(not run(Place(host, port, seeds), only))


main()
