//! Every field of the configuration, each declared once: its name, unit, reason, default.
//!
//! A field has one name everywhere: `sync_interval` in the file, `BRICKYARD_SYNC_INTERVAL` in the
//! environment, `--sync-interval` as a flag.

use super::hosts::HostPorts;
use super::roles::NodeRoles;
use super::text::{ByteSize, ConfigValue, ConsoleUse, HttpListen, LogFormat, MemoryShare};
use brickyard_metadata::Roles;
use brickyard_types::{Durability, Eviction, Medium, limits};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// One field as the sources of configuration see it: text in, TOML out.
#[derive(Debug)]
pub struct Field {
    /// Its name in the file.
    pub name: &'static str,
    /// Under which heading it is shown.
    pub section: &'static str,
    /// What its value counts or is.
    pub unit: &'static str,
    /// What it does, and why it has its default.
    pub reason: &'static str,
    /// Whether the flag may stand alone and then means `true`.
    pub is_switch: bool,
    write: fn(&mut Fields, &str) -> Result<(), String>,
    read: fn(&Fields) -> String,
}

impl Field {
    /// The field called `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// The name of its flag, without the dashes in front.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The name of its environment variable.
    #[must_use]
    pub fn environment(&self) -> String {
        format!("BRICKYARD_{}", self.name.to_ascii_uppercase())
    }

    /// Sets the field from text.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn set(&self, fields: &mut Fields, text: &str) -> Result<(), String> {
        (self.write)(fields, text)
    }

    /// The field's value as TOML.
    #[must_use]
    pub fn toml(&self, fields: &Fields) -> String {
        (self.read)(fields)
    }
}

macro_rules! fields {
    ($($section:literal: $(
        $name:ident: $type:ty = $default:expr, $unit:literal, $reason:literal;
    )+)+) => {
        /// The typed values; [`Fields::default`] has the defaults.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Fields {
            $($(#[doc = $reason] pub $name: $type,)+)+
        }

        impl Default for Fields {
            fn default() -> Self {
                Self { $($($name: $default,)+)+ }
            }
        }

        /// Every field, in the order in which they are shown.
        pub static FIELDS: &[Field] = &[
            $($(Field {
                name: stringify!($name),
                section: $section,
                unit: $unit,
                reason: $reason,
                is_switch: is_switch(stringify!($type)),
                write: |fields, text| {
                    fields.$name = <$type as ConfigValue>::parse(text)?;
                    Ok(())
                },
                read: |fields| fields.$name.toml(),
            },)+)+
        ];
    };
}

const fn is_switch(type_name: &str) -> bool {
    matches!(type_name.as_bytes(), b"bool")
}

const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6379);

fields! {
    "Network":
        listen: SocketAddr = LISTEN, "host:port",
            "Node port, where any client may ask for any key. Loopback by default: a server without \
             users must not be reachable from outside. Redis's port, so that clients need no \
             option. Port 0 takes free ports for everything.";
        brick_port: u16 = 0, "port",
            "Port of brick 0; brick n has the n-th port after it. Cluster clients talk to these \
             directly. 0: the port after the node port.";
        http: HttpListen = HttpListen::Auto, "auto, off or host:port",
            "Health, metrics and status over HTTP, for everybody unless http_tokens is set. auto: listen's host, 1000 \
             ports above it, or off when users are configured and listen is not a loopback address.";
        http_tokens: String = String::new(), "path",
            "File with a token on each line. Whoever asks HTTP for metrics, health or status has to send one (`Authorization: Bearer \
             TOKEN`); /livez and /readyz need none. Read again when it changes. Empty: nobody needs one.";
        console: ConsoleUse = ConsoleUse::Auto, "auto, on or off",
             "Whether HTTP serves the console at /console/, where browsers show the cluster, and read and write keys by what users may. \
             auto: it does, unless client_ca is set: HTTP asks nobody for a certificate, so a password would be enough there.";
        console_backup: String = String::new(), "command",
            "How a backup is made that somebody begins in the console, such as `brickyard backup create /backups`; words are parted by \
             spaces, no shell reads them, and `--table NAME` is put behind. `brickyard` is the program that runs here and asks this node; \
             a user and password come from the node's environment (BRICKYARD_USER, BRICKYARD_PASSWORD). Empty: none can be begun there.";
        advertise: String = String::new(), "host name or IP address",
            "What cluster clients are told to connect to. Empty: listen's address. Must be set when \
             listen is 0.0.0.0 or [::], which nobody can connect to.";
        client_cert: String = String::new(), "path",
            "PEM file with the certificate that this node shows to clients (`brickyard cert node`, or any whose names are those by which \
             clients call it). With it and client_key the node port, the bricks' ports and HTTP speak TLS and nothing else; the same \
             on all nodes, since cluster clients speak it to all or none. Read again when the file changes. Empty: they speak in the clear.";
        client_key: String = String::new(), "path",
            "PEM file with the key to client_cert.";
        client_ca: String = String::new(), "path",
            "PEM file with the authorities whose certificates clients have to show at the node port and the bricks' ports (`brickyard cert \
             client`). Empty: none is asked for.";
        insecure: bool = false, "true or false",
            "Allow a listen address that is not loopback without users, and a port for nodes without certificates. Whoever \
             reaches either port may then read, write and drop every table.";
        maxclients: u32 = 10_000, "connections",
            "Most client connections at once; one more is told so and closed. Redis's default; each \
             needs a file descriptor.";
        idle_timeout: Duration = Duration::ZERO, "time",
            "Close a connection that sent nothing for so long. 0: never, as in Redis: pools keep \
             idle connections on purpose.";
        tcp_keepalive: Duration = Duration::from_secs(300), "time",
            "Probe a silent client after so long, so that dead peers are noticed. 0: never. Redis's \
             default.";
    "Cluster":
        join: HostPorts = HostPorts(Vec::new()), "host:port,...",
            "Node ports of nodes that are or will be in the cluster; may name this node too. Used until \
             this node is a member, and beside the addresses that it knows from then on. Empty: an \
             empty data directory becomes a cluster of its own at once.";
        expect: u32 = 0, "nodes",
            "How many nodes found a cluster together, where none of those that are asked has one. 0: \
             this node only joins a cluster that is there, since two that were founded by mistake \
             cannot be made one.";
        peer_port: u16 = 0, "port",
            "Port for other nodes, at listen's host. It asks for no password but, with peer_cert, for a node's certificate. \
             0: 10000 above the node port (below it where that would be over 65535), and none when users are \
             configured and both peer_cert and join are empty.";
        peer_cert: String = String::new(), "path",
            "PEM file with this node's certificate, which other nodes ask for (`brickyard cert node`). With it the port for \
             nodes takes nobody but nodes of the same authority; peer_key and peer_ca belong to it. Needed with users, or where \
             listen is not loopback. auto, on loopback: nodes that the same user runs on this machine make one for all, in the \
             user's own directory. Empty: the port believes whoever reaches it.";
        peer_key: String = String::new(), "path",
            "PEM file with the key to peer_cert.";
        peer_ca: String = String::new(), "path",
            "PEM file with the cluster's authority, whose nodes are let in (`brickyard cert init`). Several in one file are all \
             believed, as while one is replaced.";
        zone: String = String::new(), "name",
            "What fails together with this node, such as a rack or a data centre. Replicas are kept in \
             different zones where there are some.";
        weight: u32 = 1, "share",
            "What each brick of this node should hold, relative to the bricks of other nodes. 0: \
             nothing, for a node that only votes or passes requests on.";
        roles: NodeRoles = NodeRoles(Roles { storage: true, control: true, gateway: false }), "roles",
            "What this node is used for: storage (it holds partitions), control (it may vote on the catalog), gateway \
             (it is a place to connect to for clients that know nothing of the maps; any node's port serves those, \
             so gateway alone is a node that holds nothing and does not vote).";
        lease: Duration = Duration::from_millis(700), "time",
            "How long a node may serve without hearing from the leader. Shorter: a dead node's keys are \
             served again sooner; longer: a slow network, or a machine that stands still for half a second, is \
             mistaken for a dead node less often. The same on all nodes.";
        lease_renew: Duration = Duration::from_millis(140), "time",
            "How often a node renews its lease. A fifth of the lease, so that several may get lost.";
        eviction_timeout: Duration = Duration::from_secs(5), "time",
            "How long a replica may keep a write waiting before the others go on without it, whatever \
             they do. Where others show that it need not take so long, a second is enough. Longer than \
             most pauses of disks, since whoever is taken out has to catch up.";
        recovery_bandwidth: ByteSize = ByteSize(0), "bytes",
            "Most bytes that a brick copies in a second for replicas that catch up or move to other nodes. \
             0: as fast as it goes, since until then a copy is missing; less keeps disks and networks \
             free for clients.";
        partition_bytes: ByteSize = ByteSize::mebibytes(100), "bytes",
            "Keys and values that a partition may have before the brick that leads it splits it in two, where it \
             is. A small partition moves in seconds and evens things out; a large one keeps the map small. 0: never.";
        merge_after: Duration = Duration::from_secs(60), "time",
            "How long two halves of a partition that was split by its size have to have less than a quarter of \
             partition_bytes together before they are merged; if they are on different bricks, one is brought to the \
             other first. 0: never. The same on all nodes.";
        split_after: Duration = Duration::from_secs(30), "time",
            "How long after nodes joined or left, or got other weights, a table is split that has too few partitions \
             for its bricks; of several nodes that come one after the other the last one counts. 0: never. Tables \
             whose PARTITIONS were chosen are not. The same on all nodes.";
        hot_busy: u32 = 70, "percent of a core",
            "A brick that is busier is relieved: hot partitions are handed over to other bricks that have them, split, \
             or, where they are read, get another copy for that. 0: never. The same on all nodes.";
        hot_replicas: u32 = 2, "copies",
            "Most copies more than REPLICAS that a hot partition gets. Each takes part in every write, so only \
             partitions get them that are mostly read. 0: none.";
        hot_cool: Duration = Duration::from_secs(300), "time",
            "How long a partition has not been hot before that is given back.";
        write_timeout: Duration = Duration::from_secs(5), "time",
            "How long a request may wait for replicas or for a view to change; then its client is told \
             that the outcome is not known, or to try again.";
    "Limits":
        value_bytes_max: ByteSize = ByteSize(limits::VALUE_BYTES_MAX as u64), "bytes",
            "Longest value. A longer one would hold up its partition's log for too long.";
        request_bytes_max: ByteSize = ByteSize::mebibytes(256), "bytes",
            "Longest request, all arguments together; the connection of a longer one is closed. \
             Must hold the longest value.";
        output_bytes_max: ByteSize = ByteSize::mebibytes(256), "bytes",
            "Most reply bytes kept for a client that does not read; then it is closed. Its requests \
             wait long before that. Must hold the longest value.";
        maxmemory_clients: MemoryShare = MemoryShare::Percent(10), "bytes or percent",
            "Most bytes that all clients' buffers may take together: what they sent and is not executed, replies that they have not \
             read, queues of MULTI. Above it the client that has most is closed, and the next one, until the rest is below. \
             A percentage is of the machine's memory, and never less than two of the longest values. 0: no bound.";
        pending_append_bytes_max: ByteSize = ByteSize::mebibytes(64), "bytes a brick",
            "Most bytes waiting for the disk; further writes are refused with a retryable error, so \
             that a slow disk cannot fill the memory.";
    "Storage":
        data: String = "./brickyard-data".to_owned(), "path",
            "The data directory. Made when missing; one server at a time may use it.";
        temporary: bool = false, "true or false",
            "Use a new directory under the system's temporary one and remove it at the end. For \
             trying things out; data is then ignored.";
        bricks: u32 = 0, "bricks",
            "How many event loops, each with its own log and port. Fixed by the data directory at \
             its first start. 0: one for each core, or what the directory has.";
        segment_bytes: ByteSize = ByteSize::mebibytes(64), "bytes",
            "Size at which a log file is sealed and the next one begun. Smaller files give space \
             back sooner; larger ones make fewer files. An open file of this size is the most that \
             a restart has to read in full.";
        sync_interval: Duration = Duration::from_secs(1), "time",
            "How often the logs of tables with durability `log` are synced: what a power cut may \
             cost. One second, as in Redis's `appendfsync everysec`.";
        sync_bytes: ByteSize = ByteSize::mebibytes(4), "bytes",
            "After so many bytes they are synced earlier: to write back a second of a busy log at once holds up its writes.";
        runway_bytes: ByteSize = ByteSize::kibibytes(256), "bytes",
            "Zeros that are written ahead of the log's end where syncs come often (`fsync`): a sync of what is then \
             written over them leaves the file's length and its blocks as they are, which takes a disk less time. \
             0: none, so that no byte of a log is written twice.";
        inline_append_max: ByteSize = ByteSize::kibibytes(256), "bytes",
            "Longest write to the log that a brick's loop makes itself instead of waking a thread for it: a short one \
             costs less than the wake. After a slow one the thread has them all for a while. 0: it always has, so that \
             a disk that hangs never holds up a read.";
        io_uring: bool = true, "true or false",
            "Serve clients' sockets by io_uring where the system has it: the calls of a turn are one system call. INFO and \
             the log say whether it has. false: each is a call of its own.";
    "Default table":
        default_durability: Durability = Durability::Log, "memory, log or fsync",
            "Durability of the table `default` when it is made at the first start. log: acknowledged \
             once the operating system has it, so a killed process loses nothing.";
        default_medium: Medium = Medium::Ram, "ram or disk",
            "Medium of the table `default`: values in memory, or in the log with the hot ones cached.";
        default_replicas: u32 = 3, "copies",
            "Copies of the table `default` and of tables made without REPLICAS, each on a node of its own: so many where \
             there are nodes for them, and as many as there are nodes until then. 3: while one copy is away, or is made \
             anew, there are two. 1: what is acknowledged is lost with one disk. The same on all nodes.";
        default_maxmemory: ByteSize = ByteSize(0), "bytes",
            "Most memory of the table `default`. 0: no bound.";
        default_evict: Eviction = Eviction::None, "none or lru",
            "What a write past that bound does. none: it is refused, since a database must not \
             forget by itself; lru suits a cache.";
    "Slow log":
        slowlog_slower_than: Duration = Duration::from_millis(10), "time",
            "Commands that take longer are kept for SLOWLOG GET. Redis's default. 0: all are.";
        slowlog_entries_max: u32 = 128, "entries a brick",
            "How many of them are kept. Redis's default. 0: none are.";
    "Notifications":
        notify_keyspace_events: String = String::new(), "characters",
            "Which events of keys are published, by Redis's characters: K and E for channels by key and by event, A for all events, or some of \
             g$xe. Empty: none. Each write of such a key is a message to every node. CONFIG SET changes it.";
    "Operation":
        stop_timeout: Duration = Duration::from_secs(10), "time",
            "How long a stopping server waits for requests in flight before it closes their \
             connections. Well below the 90 s after which systemd kills.";
        log_format: LogFormat = LogFormat::Auto, "auto, text or json",
            "Look of the log lines on standard error. auto: text on a terminal, JSON otherwise.";
        log_level: String = "info".to_owned(), "level",
            "error, warn, info, debug or trace; also by module, as in `info,brickyard_store=debug`. \
             Keys and values never appear above debug.";
}
