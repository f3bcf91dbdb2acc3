//! What must hold between the fields; everything that does not is told at once.

use super::fields::{Field, Fields};
use super::source::{Origin, Problem};
use super::text::{ByteSize, HttpListen, MemoryShare};
use super::users::{self, UserEntry};
use brickyard_brick::keyspace_events::EventClasses;
use brickyard_types::{Durability, Eviction, Medium, limits};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Most bricks of one node. Each has four threads and a queue to every other; a machine with more cores
/// runs two nodes.
pub(crate) const BRICKS_MAX: u32 = 128;

/// Smallest segment: below that, files' headers and handles cost more than what is in them.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// Largest segment: positions have 32 bits for the offset, and a record may start just below it.
const SEGMENT_BYTES_MAX: u64 = 2 << 30;

/// Most zeros that are written ahead of a log's end: the loop waits for them.
const RUNWAY_BYTES_MAX: ByteSize = ByteSize::mebibytes(1);

/// Longest write that a brick's loop may make itself: beyond that the copy alone would hold it up.
const INLINE_APPEND_MAX: ByteSize = ByteSize::mebibytes(1);

/// Least bytes between syncs that nothing waits for: more syncs would cost a busy log more than they spread.
const SYNC_BYTES_MIN: ByteSize = ByteSize::kibibytes(64);

/// What a request needs besides its longest value: its key and other arguments.
const REQUEST_BYTES_BESIDES_VALUE: u64 = 1 << 20;

/// Most nodes that found a cluster together.
const EXPECT_MAX: u32 = 64;

/// Longest name of a zone.
const ZONE_BYTES_MAX: usize = 255;

/// Shortest lease: below, a pause of a process or of a virtual machine ends it.
const LEASE_MIN: Duration = Duration::from_millis(200);

pub(super) struct Checker<'a> {
    pub(super) fields: &'a Fields,
    pub(super) users: &'a [UserEntry],
    pub(super) origins: &'a BTreeMap<&'static str, Origin>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    pub(super) fn check(mut self) {
        self.check_network();
        self.check_limits();
        self.check_storage();
        self.check_table();
        self.check_cluster();
        if let Err(error) = crate::log::check_level(&self.fields.log_level) {
            self.refuse(
                "log_level",
                &error,
                "write error, warn, info, debug or trace, or levels by module",
            );
        }
        if let Err(error) = EventClasses::parse(&self.fields.notify_keyspace_events) {
            self.refuse(
                "notify_keyspace_events",
                error,
                "write K or E or both, and A or some of g$xe, or leave it empty",
            );
        }
        users::validate(self.users, self.problems);
    }

    fn check_network(&mut self) {
        let fields = self.fields;
        let is_public = !fields.listen.ip().is_loopback();
        let is_open = self.users.is_empty() && fields.client_ca.is_empty();
        if is_public && is_open && !fields.insecure {
            self.refuse(
                "listen",
                "that address can be reached from outside and there are no users",
                "add a [[user]] to the configuration file (`brickyard config hash-password` helps), have clients show \
                 certificates (client_ca), listen on 127.0.0.1, or accept it with insecure = true",
            );
        }
        if fields.advertise.is_empty() {
            if fields.listen.ip().is_unspecified() {
                self.refuse(
                    "listen",
                    "nobody can connect to that address, and cluster clients would be told to",
                    "set advertise to the host name or address by which clients reach this machine",
                );
            }
        } else if fields
            .advertise
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_unspecified())
        {
            self.refuse(
                "advertise",
                "nobody can connect to that address",
                "set it to the host name or address by which clients reach this machine",
            );
        } else if fields.advertise.contains([' ', '/', '\r', '\n']) || has_port(&fields.advertise) {
            self.refuse(
                "advertise",
                "it is not a host name or IP address",
                "give the host alone, without port or scheme",
            );
        }
        if let HttpListen::At(http) = fields.http {
            self.check_http(http);
        }
        self.check_client_tls();
        self.check_ports();
        self.at_least("maxclients", fields.maxclients, 1);
    }

    fn check_client_tls(&mut self) {
        let fields = self.fields;
        let (cert, key, ca) = (&fields.client_cert, &fields.client_key, &fields.client_ca);
        let missing = match (cert.is_empty(), key.is_empty()) {
            (true, false) => "client_cert",
            (false, true) => "client_key",
            (true, true) if !ca.is_empty() => "client_cert",
            _ => return,
        };
        self.refuse(
            missing,
            "of client_cert, client_key and client_ca another one is given and this one is not, so that there would be no TLS",
            "give client_cert and client_key; `brickyard cert node` makes them",
        );
    }

    fn check_http(&mut self, http: SocketAddr) {
        let fields = self.fields;
        if http.port() != 0 && http.port() == fields.listen.port() {
            self.refuse("http", "the node port is the same", "choose another port");
        }
        // Status and metrics show names of tables and clients' counts, not keys or values.
        let is_open = fields.http_tokens.is_empty() && !fields.insecure;
        if !http.ip().is_loopback() && fields.listen.ip().is_loopback() && is_open {
            self.refuse(
                "http",
                "it can be reached from outside while listen cannot, and it asks for no password",
                "listen on 127.0.0.1, ask for tokens (http_tokens), or accept it with insecure = true",
            );
        }
    }

    fn check_ports(&mut self) {
        let fields = self.fields;
        let node = fields.listen.port();
        if node == 0 {
            return;
        }
        let first = u32::from(fields.first_brick_port());
        let bricks = fields.bricks.clamp(1, BRICKS_MAX);
        let ports = first..first + bricks;
        if ports.end > 1 << 16 {
            self.refuse(
                "brick_port",
                "the last brick's port would be above 65535",
                "choose lower ports or fewer bricks",
            );
        }
        if ports.contains(&u32::from(node)) {
            self.refuse(
                "brick_port",
                "the node port is among the bricks' ports",
                "move brick_port or listen",
            );
        }
        match fields.http_address(!self.users.is_empty()) {
            Ok(Some(http)) if ports.contains(&u32::from(http.port())) && http.port() != 0 => self
                .refuse(
                    "http",
                    "it is among the bricks' ports",
                    "choose another port",
                ),
            Ok(_) => {}
            Err(()) => self.refuse(
                "http",
                "the node port plus 1000 is above 65535",
                "give http an address of its own, or off",
            ),
        }
    }

    fn check_limits(&mut self) {
        let fields = self.fields;
        if fields.value_bytes_max.0 > limits::VALUE_BYTES_MAX as u64
            || fields.value_bytes_max.0 == 0
        {
            self.refuse(
                "value_bytes_max",
                "it is not between 1 byte and 64MiB, the most the log takes",
                "lower it, and keep larger things elsewhere",
            );
        }
        let least = fields
            .value_bytes_max
            .0
            .saturating_add(REQUEST_BYTES_BESIDES_VALUE);
        let bounds = [
            ("request_bytes_max", fields.request_bytes_max),
            ("output_bytes_max", fields.output_bytes_max),
        ];
        for (name, bound) in bounds {
            if bound.0 < least {
                self.refuse(
                    name,
                    "it has no room for the longest value (value_bytes_max and 1MiB beside it)",
                    &format!("raise it to {} or lower value_bytes_max", ByteSize(least)),
                );
            }
        }
        let clients_least = fields.client_bytes_least();
        if let MemoryShare::Bytes(bytes) = fields.maxmemory_clients
            && (1..clients_least).contains(&bytes.0)
        {
            self.refuse(
                "maxmemory_clients",
                "it has no room for two of the longest values (value_bytes_max) and 1MiB beside them",
                &format!(
                    "raise it to {}, lower value_bytes_max, or set it to 0 for no bound",
                    ByteSize(clients_least)
                ),
            );
        }
        if fields.pending_append_bytes_max.0 < SEGMENT_BYTES_MIN {
            self.refuse(
                "pending_append_bytes_max",
                "it is under 1MiB, so that a few writes would fill it",
                "raise it to 1MiB or more",
            );
        }
    }

    fn check_storage(&mut self) {
        let fields = self.fields;
        if fields.data.is_empty() && !fields.temporary {
            self.refuse(
                "data",
                "it is empty",
                "give a path, or set temporary = true",
            );
        }
        if fields.bricks > BRICKS_MAX {
            self.refuse(
                "bricks",
                "a node has at most 128",
                "use one for each core, which is what 0 does",
            );
        }
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&fields.segment_bytes.0) {
            self.refuse(
                "segment_bytes",
                "it is not between 1MiB and 2GiB",
                "choose between them; 64MiB suits most disks",
            );
        }
        if fields.runway_bytes > RUNWAY_BYTES_MAX {
            self.refuse(
                "runway_bytes",
                "it is more than 1MiB, which would hold up the brick's loop",
                "choose less; 256KiB suits most disks, 0 writes no zeros ahead",
            );
        }
        if fields.inline_append_max > INLINE_APPEND_MAX {
            self.refuse(
                "inline_append_max",
                "it is more than 1MiB, which would hold up the brick's loop",
                "choose less; 256KiB suits most disks, 0 leaves all writes to a thread",
            );
        }
        let interval = Duration::from_millis(1)..=Duration::from_secs(3600);
        if !interval.contains(&fields.sync_interval) {
            self.refuse(
                "sync_interval",
                "it is not between 1ms and 1h",
                "choose between them; for a sync before each answer use durability fsync",
            );
        }
        if fields.sync_bytes < SYNC_BYTES_MIN {
            self.refuse(
                "sync_bytes",
                "it is less than 64KiB, which would sync a busy log all the time",
                "choose more; 4MiB suits most disks, and for a sync before each answer use durability fsync",
            );
        }
    }

    fn check_table(&mut self) {
        let fields = self.fields;
        if !(1..=u32::from(u8::MAX)).contains(&fields.default_replicas) {
            self.refuse(
                "default_replicas",
                "it is not between 1 and 255",
                "leave it out: 3 copies outlive the loss of two nodes, one after the other",
            );
        }
        if fields.default_evict == Eviction::Lru && fields.default_maxmemory.0 == 0 {
            self.refuse(
                "default_evict",
                "nothing would ever be evicted, since default_maxmemory is 0 (no bound)",
                "set default_maxmemory",
            );
        }
        let is_disk = fields.default_medium == Medium::Disk;
        if is_disk && fields.default_evict == Eviction::Lru {
            self.refuse(
                "default_evict",
                "a disk table keeps all its values in the log, so that nothing needs to be evicted",
                "use none; default_maxmemory then bounds the values that are cached",
            );
        }
        if is_disk && fields.default_durability == Durability::Memory {
            self.refuse(
                "default_medium",
                "a disk table's values are in the log, and durability memory keeps no log",
                "use default_durability log or fsync, or default_medium ram",
            );
        }
    }

    fn check_cluster(&mut self) {
        let fields = self.fields;
        let voters = fields.expect;
        if voters > 1 && fields.join.0.is_empty() {
            self.refuse(
                "expect",
                "join is empty, so that this node would never meet the others",
                "name the other nodes in join",
            );
        }
        if voters > EXPECT_MAX {
            self.refuse(
                "expect",
                "every one of them has to answer before the cluster is there",
                "found it with 3 or 5 nodes; the others join it",
            );
        }
        let roles = fields.roles.0;
        if fields.expect > 0 && !(roles.storage && roles.control) {
            self.refuse(
                "roles",
                "a node that founds a cluster has to hold partitions and to vote, and expect says that this one may found it",
                "leave expect out, so that it joins a cluster that is there",
            );
        }
        if !fields.zone.bytes().all(|byte| byte.is_ascii_graphic())
            || fields.zone.len() > ZONE_BYTES_MAX
        {
            self.refuse(
                "zone",
                "it is not a short name without blanks",
                "use letters, digits and dashes",
            );
        }
        let leases = LEASE_MIN..=Duration::from_secs(60);
        if !leases.contains(&fields.lease) {
            self.refuse(
                "lease",
                "it is not between 200ms and 60s",
                "choose between them; 1.5s suits a local network",
            );
        }
        if fields.lease_renew.is_zero() || fields.lease_renew * 3 > fields.lease {
            self.refuse(
                "lease_renew",
                "it is 0, or so long that one lost message would end the lease",
                "set it to a fifth of lease",
            );
        }
        if fields.eviction_timeout < fields.lease {
            self.refuse(
                "eviction_timeout",
                "it is shorter than lease, so that slow replicas would be taken for dead ones",
                "set it to lease or more",
            );
        }
        if fields.write_timeout.is_zero() {
            self.refuse(
                "write_timeout",
                "no write could wait for a replica",
                "set it to 1s or more",
            );
        }
        if fields.hot_busy > 100 {
            self.refuse(
                "hot_busy",
                "no brick has more than one core",
                "set it to 100 or less; 0 turns it off",
            );
        }
        if fields.hot_cool.is_zero() {
            self.refuse(
                "hot_cool",
                "what a hot partition gets would be given back at once, again and again",
                "set it to some minutes, or hot_busy to 0",
            );
        }
        self.check_peer_port();
    }

    fn check_peer_port(&mut self) {
        let fields = self.fields;
        let is_auto = fields.peer_cert == super::AUTO;
        let given = [&fields.peer_cert, &fields.peer_key, &fields.peer_ca];
        let missing = ["peer_cert", "peer_key", "peer_ca"].iter().zip(given);
        let mut missing = missing.filter(|(_, path)| path.is_empty());
        if is_auto && !fields.listen.ip().is_loopback() {
            self.refuse(
                "peer_cert",
                "auto is for nodes of one machine, and listen can be reached from others",
                "make certificates with `brickyard cert init` and `brickyard cert node`",
            );
        } else if is_auto && !(fields.peer_key.is_empty() && fields.peer_ca.is_empty()) {
            self.refuse(
                "peer_cert",
                "it is auto, and peer_key or peer_ca is given beside it",
                "leave those out, or give all three",
            );
        } else if let Some((name, _)) = missing.next()
            && !is_auto
            && given.iter().any(|path| !path.is_empty())
        {
            self.refuse(
                name,
                "of peer_cert, peer_key and peer_ca some are given and this one is not",
                "give all three; `brickyard cert init` and `brickyard cert node` make them",
            );
        }
        let Some(peer) = fields.peer_address(!self.users.is_empty()) else {
            return;
        };
        let is_public = !fields.listen.ip().is_loopback() || !self.users.is_empty();
        if is_public && fields.peer_cert.is_empty() && !fields.insecure {
            self.refuse(
                "peer_cert",
                "the port for nodes would believe whoever reaches it, past users and passwords",
                "make the cluster's authority with `brickyard cert init` and this node's certificate with `brickyard cert node`, \
                 and give peer_cert, peer_key and peer_ca; or accept it with insecure = true",
            );
        }
        let (port, node) = (u32::from(peer.port()), u32::from(fields.listen.port()));
        if port == 0 || node == 0 {
            return;
        }
        let first = u32::from(fields.first_brick_port());
        let bricks = first..first + fields.bricks.clamp(1, BRICKS_MAX);
        let http = fields.http_address(!self.users.is_empty());
        let is_http = matches!(http, Ok(Some(http)) if u32::from(http.port()) == port);
        if port == node || bricks.contains(&port) || is_http {
            self.refuse(
                "peer_port",
                "the node port, a brick's port or HTTP's is the same",
                "choose another port",
            );
        }
    }

    fn at_least(&mut self, name: &str, value: u32, least: u32) {
        if value < least {
            self.refuse(
                name,
                "that is too few",
                &format!("set it to {least} or more"),
            );
        }
    }

    fn refuse(&mut self, name: &str, why: &str, remedy: &str) {
        self.problems.push(Problem {
            field: name.to_owned(),
            value: Field::find(name).map(|field| field.toml(self.fields)),
            origin: self.origins.get(name).cloned(),
            why: why.to_owned(),
            remedy: remedy.to_owned(),
        });
    }
}

/// `host:port` and `[v6]:port`, but not a bare IPv6 address.
fn has_port(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_err()
        && host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}
