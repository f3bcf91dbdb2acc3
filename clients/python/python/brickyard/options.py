"""How a client finds its cluster, who it is there, and how far it goes."""

from __future__ import annotations

import dataclasses
import socket
from typing import Optional, Tuple, Union


@dataclasses.dataclass(frozen=True)
class Options:
    """What a client is made from; the addresses are all that is needed.

    `seeds`: where to begin, `host:port` of one node or several (6379 where no port is given); one of them has to run.
    `user`, `password`: who this is; a password alone is the default user's.
    `tls_authority`, `tls_certificate`, `tls_key`: files. With the first one connections go by TLS; the others are shown to nodes that ask.
    `deadline`: seconds that a call may take, all its attempts together. A replica that fails is replaced within some 3 s.
    `connect_timeout`: seconds that a connection may take to be made.
    `reads`: `"primary"`; `"replicas"`, all of them, each key at one of them; `"nearest"`, those on the hosts `near` as long as one answers.
    Reads are linearizable either way.
    `near`: hosts as the cluster names them; none: those that this machine goes by.
    `cache_bytes`: with more than 0, values that `get` and `[]` read are kept in this process, so many bytes for each table, as long as a lease says that
    nobody has changed them; only of tables with `leases="on"`, whose writes of such keys wait for whoever keeps them.
    `connections_per_brick`: more than 1 helps where single connections are slow, not where bricks are.
    `in_flight_max`: calls that may be sent and not answered; more wait for their turn.
    """

    seeds: Tuple[str, ...]
    user: Optional[str] = None
    password: Optional[str] = dataclasses.field(default=None, repr=False)
    tls_authority: Optional[str] = None
    tls_certificate: Optional[str] = None
    tls_key: Optional[str] = None
    deadline: float = 5.0
    connect_timeout: float = 1.0
    reads: str = "primary"
    near: Tuple[str, ...] = ()
    cache_bytes: int = 0
    connections_per_brick: int = 1
    in_flight_max: int = 8192

    def __post_init__(self) -> None:
        if self.reads not in ("primary", "replicas", "nearest"):
            raise ValueError(f"reads={self.reads!r}: there are \"primary\", \"replicas\" and \"nearest\"")
        if self.cache_bytes < 0 or self.cache_bytes and self.reads != "primary":
            raise ValueError(f"cache_bytes={self.cache_bytes!r} goes with reads=\"primary\", not with {self.reads!r}, and is 0 or more")
        if self.near and self.reads != "nearest":
            raise ValueError(f"near={self.near!r} goes with reads=\"nearest\", not with {self.reads!r}")
        if self.reads == "nearest" and not self.near:
            object.__setattr__(self, "near", local_hosts())

    @property
    def reads_from_replicas(self) -> bool:
        """Whether replicas answer reads, too."""
        return self.reads != "primary"

    def beside(self) -> Options:
        """The same for a process wherever it runs: it reads the copies on its own machine first."""
        return dataclasses.replace(self, reads="nearest", near=local_hosts(), cache_bytes=0)


def addresses(seeds: Union[str, Tuple[str, ...]]) -> Tuple[str, ...]:
    """One address, several separated by commas, or several."""
    if isinstance(seeds, str):
        seeds = tuple(seeds.split(","))
    return tuple(seed.strip() for seed in seeds if seed.strip())


def local_hosts() -> Tuple[str, ...]:
    """What this machine goes by, as far as it knows without asking anybody."""
    name = socket.gethostname()
    hosts = {"localhost", "127.0.0.1", "::1", name}
    try:
        hosts.update(str(info[4][0]) for info in socket.getaddrinfo(name, None))
    except OSError:
        # A machine that cannot resolve its own name is known by the others above.
        pass
    return tuple(sorted(hosts))
