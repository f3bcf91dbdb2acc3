//! Situations: what a cluster is like, what goes wrong with it, what its clients ask for.
//!
//! In:  nothing. Out: what seeds draw shapes and plans from.
//!
//! [`USUAL`] has everything at once. The others make a few things likely that hardly ever come together there; what
//! becomes of them is left to chance, and checked like everything else. Who checks does not know which one it is.

use crate::habits::{Form, Habits, Kind};
use brickyard_types::{Durability, Leases};

/// What a cluster is like.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClusterOf {
    pub(crate) nodes: &'static [usize],
    pub(crate) bricks: &'static [u32],
    /// A run in so many has all tables synced, and knows no mercy.
    pub(crate) fsync_one_in: u64,
    pub(crate) durability: &'static [(Durability, u64)],
    pub(crate) replicas: &'static [u8],
    /// One table in so many keeps its values in the log alone.
    pub(crate) disk_one_in: u64,
    /// What such a table may have in memory.
    pub(crate) maxmemory: u64,
    pub(crate) tables: &'static [usize],
    /// What they are called.
    pub(crate) names: [&'static str; 2],
    /// For each brick.
    pub(crate) partitions: &'static [u32],
    pub(crate) segment_bytes: &'static [u32],
    /// What a client may leave unread before nothing more of it is executed, and that its requests reserve parts of.
    pub(crate) output_soft: &'static [u64],
    /// Of this many appends, where the worker has nothing to do, a loop writes one itself.
    pub(crate) inline_one_in: &'static [u64],
    pub(crate) extras: ExtrasOf,
}

/// What tables have that most do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtrasOf {
    /// What is read may be kept.
    pub(crate) leases: Leases,
    /// Bytes of changes that partitions keep for who follows them.
    pub(crate) history: u64,
    /// What decides where keys go, as `TABLE CREATE .. HASH` is told.
    pub(crate) hashes: &'static [&'static str],
}

/// How long things take, and when nodes come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimesOf {
    pub(crate) lease_ms: u64,
    pub(crate) deadline_ms: &'static [u64],
    pub(crate) evict_pause_ms: &'static [u64],
    /// How long a sync takes, in microseconds.
    pub(crate) sync_us: &'static [u64],
    /// How long a message takes.
    pub(crate) latency_us: &'static [u64],
    /// The last node comes later in one run of so many.
    pub(crate) late_one_in: u64,
    /// One cluster in so many is founded by several nodes.
    pub(crate) founders_one_in: u64,
}

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub struct Scenario {
    /// For people, and for the table of deliberate bugs.
    pub name: &'static str,
    pub(crate) cluster: ClusterOf,
    pub(crate) times: TimesOf,
    /// Kinds of faults, and how likely beside others; none: all, each by its own weight.
    pub(crate) faults: &'static [(&'static str, u64)],
    pub(crate) count: [u64; 2],
    pub(crate) length_ms: [u64; 2],
    pub(crate) clients: [u64; 2],
    pub(crate) operations: [u64; 2],
    pub(crate) habits: Habits,
}

const NEVER: u64 = u64::MAX;

/// The hash function of tables that were not told of another one.
pub(crate) const SLOT: &str = "slot";

const PLAIN: ExtrasOf = ExtrasOf {
    leases: Leases::Never,
    history: 0,
    hashes: &[SLOT],
};

/// Everything.
pub(crate) const USUAL: Scenario = Scenario {
    name: "usual",
    cluster: ClusterOf {
        nodes: &[3, 3, 3, 4, 5],
        bricks: &[1, 1, 1, 2],
        fsync_one_in: 3,
        durability: &[
            (Durability::Memory, 1),
            (Durability::Fsync, 1),
            (Durability::Log, 3),
        ],
        replicas: &[2, 3],
        disk_one_in: 4,
        maxmemory: 64 << 10,
        tables: &[1, 2],
        names: ["first", "second"],
        partitions: &[1, 1, 2],
        segment_bytes: &[4 << 10, 16 << 10, 256 << 10],
        output_soft: &[1 << 20, 1 << 20, 1 << 10, 64],
        inline_one_in: &[1, 1, 2, 10, NEVER],
        extras: PLAIN,
    },
    times: TimesOf {
        lease_ms: 1_500,
        deadline_ms: &[1_500, 5_000],
        evict_pause_ms: &[500, 2_000, 10_000],
        sync_us: &[500, 1_000, 4_000],
        latency_us: &[100, 200, 500, 1_000],
        late_one_in: 6,
        founders_one_in: 2,
    },
    faults: &[],
    count: [0, 14],
    length_ms: [2_000, 12_000],
    clients: [2, 9],
    operations: [20, 120],
    habits: Habits::USUAL,
};

/// Much happens in a short time, to few keys, in segments that are hardly longer than a record.
const DENSE: Scenario = Scenario {
    name: "dense",
    cluster: ClusterOf {
        nodes: &[3, 3, 4],
        bricks: &[1],
        fsync_one_in: 6,
        maxmemory: 64,
        segment_bytes: &[4 << 10, 16 << 10],
        ..USUAL.cluster
    },
    times: TimesOf {
        lease_ms: 400,
        deadline_ms: &[1_500],
        evict_pause_ms: &[200, 500],
        late_one_in: NEVER,
        founders_one_in: NEVER,
        ..USUAL.times
    },
    count: [20, 60],
    length_ms: [4_000, 10_000],
    clients: [4, 9],
    operations: [100, 300],
    ..USUAL
};

/// Processes and machines hardly live long enough to catch up.
pub(crate) const POWER: Scenario = Scenario {
    name: "power",
    faults: &[
        ("kill", 1),
        ("power cut", 1),
        ("kill at an effect", 1),
        ("kill of all", 1),
        ("kill of the leader", 1),
        ("pause", 1),
    ],
    count: [10, 30],
    length_ms: [6_000, 9_000],
    ..USUAL
};

/// Nothing goes wrong, and much is asked for.
pub(crate) const CALM: Scenario = Scenario {
    name: "calm",
    count: [0, 1],
    clients: [8, 9],
    operations: [400, 401],
    ..USUAL
};

/// Views change all the time: members are let go and learn again, primaries hand over, and little else is wrong.
pub(crate) const VIEWS: Scenario = Scenario {
    name: "views",
    faults: &[
        ("another primary", 6),
        ("a member less", 6),
        ("kill", 2),
        ("kill at an effect", 2),
        ("no control", 1),
        ("slow control", 2),
        ("cut one way", 1),
        ("broken connections", 3),
        ("slow disk", 1),
        ("pause", 1),
        ("full disk", 1),
    ],
    ..DENSE
};

/// Reads at backups while views change: of keys that are being written, of several keys, of values that the disk is slow to give
/// (rules `uncommitted ops are voted for again`, `leases count from the request`, `waiting reads are admitted anew`,
/// `reads follow own writes` and `reads of several keys see one moment`).
pub(crate) const READS: Scenario = Scenario {
    name: "reads",
    cluster: ClusterOf {
        replicas: &[3],
        disk_one_in: 2,
        ..DENSE.cluster
    },
    faults: &[
        ("hermit", 10),
        ("another primary", 4),
        ("kill", 1),
        ("power cut", 2),
        ("no control", 4),
        ("isolation", 2),
        ("slow disk", 3),
        ("stuck disk", 2),
        ("cut one way", 2),
        ("slow link", 3),
        ("pause", 10),
        ("slow control", 1),
    ],
    habits: Habits {
        keys: 2,
        forms: &[
            (Form::One, 4),
            (Form::Burst, 4),
            (Form::Pair, 2),
            (Form::ReadBoth, 6),
            (Form::Watch, 1),
        ],
        kinds: &[
            (Kind::Number, 1),
            (Kind::Text, 2),
            (Kind::Near, 1),
            (Kind::Far, 3),
        ],
        bricks_one_in: 2,
        readers_one_in: 1,
        libraries_one_in: 8,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Deletions and cleaning while a replica is away for long (rules `tombstones reach down to the watermark`,
/// `log summaries begin at a baseline` and `pending records are live`).
pub(crate) const CLEANING: Scenario = Scenario {
    name: "cleaning",
    cluster: ClusterOf {
        durability: LOGGED,
        replicas: &[2, 3],
        segment_bytes: &[2 << 10, 4 << 10],
        ..DENSE.cluster
    },
    faults: &[
        ("kill", 8),
        ("kill at an effect", 2),
        ("power cut", 6),
        ("kill of all", 2),
        ("a member less", 6),
        ("another primary", 2),
        ("full disk", 1),
        ("slow disk", 2),
    ],
    count: [10, 40],
    habits: DELETING,
    ..DENSE
};

const LOGGED: &[(Durability, u64)] = &[(Durability::Log, 3), (Durability::Fsync, 1)];

const DELETING: Habits = Habits {
    keys: 12,
    forms: &[
        (Form::One, 12),
        (Form::Burst, 4),
        (Form::Pair, 2),
        (Form::BriefPair, 1),
        (Form::WriteMany, 2),
    ],
    kinds: &[(Kind::Text, 6), (Kind::Number, 1), (Kind::Passing, 1)],
    deletes: 5,
    reads_one_in: 6,
    readers_one_in: 8,
    ..Habits::USUAL
};

/// Segments go while what was moved out of them is hardly ever synced, and power fails.
pub(crate) const SYNCS: Scenario = Scenario {
    name: "syncs",
    cluster: ClusterOf {
        fsync_one_in: NEVER,
        durability: &[(Durability::Log, 1)],
        ..CLEANING.cluster
    },
    times: TimesOf {
        sync_us: &[20_000, 100_000, 400_000],
        ..CLEANING.times
    },
    faults: &[
        ("power cut", 16),
        ("another primary", 2),
        ("a member less", 2),
    ],
    ..CLEANING
};

/// Replicas that learn what is being written and deleted, and are slow to log it (rules
/// `learner votes before promotion`, `a learner begins with what is pending`,
/// `tombstones reach down to the watermark` and `log summaries begin at a baseline`).
pub(crate) const LEARNING: Scenario = Scenario {
    name: "learning",
    cluster: ClusterOf {
        segment_bytes: &[4 << 10, 64 << 10],
        ..DENSE.cluster
    },
    faults: &[
        ("kill", 4),
        ("a member less", 12),
        ("another primary", 4),
        ("slow disk", 4),
        ("stuck disk", 4),
        ("full disk", 2),
        ("broken connections", 4),
        ("slow link", 4),
        ("slow control", 4),
    ],
    habits: Habits {
        keys: 12,
        forms: &[(Form::One, 8), (Form::Burst, 6), (Form::WriteMany, 2)],
        deletes: 5,
        reads_one_in: 8,
        readers_one_in: 8,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Requests that are sent again to one primary after the other, and executed once (rules `a restart cuts nothing`,
/// `requests are executed once` and `a cut is a record`).
pub(crate) const RETRIES: Scenario = Scenario {
    name: "retries",
    cluster: ClusterOf {
        segment_bytes: &[4 << 10],
        ..DENSE.cluster
    },
    faults: &[
        ("kill", 3),
        ("kill of all", 4),
        ("kill at an effect", 4),
        ("another primary", 8),
        ("a member less", 6),
        ("cut one way", 6),
        ("broken connections", 4),
        ("split", 2),
        ("merge", 2),
        ("no control", 2),
    ],
    habits: Habits {
        forms: &[(Form::One, 1)],
        kinds: &[(Kind::Number, 4), (Kind::Text, 2)],
        reads_one_in: 10,
        libraries_one_in: 1,
        again_one_in: 3,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Writes of few keys that are cut, so that their numbers are used again, and what becomes of both in logs that are cleaned and
/// copied (rules `tombstones reach down to the watermark` and `a cut is a record`).
pub(crate) const CUTS: Scenario = Scenario {
    name: "cuts",
    cluster: ClusterOf {
        disk_one_in: 2,
        tables: &[1],
        partitions: &[1],
        segment_bytes: &[2 << 10, 4 << 10],
        ..DENSE.cluster
    },
    faults: &[
        ("cut one way", 16),
        ("another primary", 16),
        ("kill", 4),
        ("kill at an effect", 4),
        ("a member less", 8),
        ("isolation", 4),
    ],
    clients: [3, 6],
    operations: [60, 150],
    habits: Habits {
        keys: 2,
        forms: &[(Form::One, 2), (Form::Burst, 2), (Form::WriteMany, 2)],
        kinds: &[(Kind::Steady, 3), (Kind::Text, 1)],
        reads_one_in: 6,
        readers_one_in: 8,
        libraries_one_in: 4,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Partitions that are split and merged all the time, emptied and filled, while members change and words come late
/// (rule `splits and merges are bound to views`).
pub(crate) const PARTING: Scenario = Scenario {
    name: "parting",
    cluster: ClusterOf {
        segment_bytes: &[4 << 10, 16 << 10],
        ..DENSE.cluster
    },
    faults: &[
        ("split", 24),
        ("merge", 24),
        ("kill", 2),
        ("kill of all", 2),
        ("kill at an effect", 2),
        ("slow control", 4),
        ("a member less", 4),
        ("another primary", 4),
        ("no control", 1),
        ("cut one way", 1),
    ],
    habits: Habits {
        keys: 8,
        forms: &[
            (Form::One, 10),
            (Form::Burst, 4),
            (Form::Pair, 2),
            (Form::Clear, 1),
        ],
        kinds: &[(Kind::Number, 4), (Kind::Text, 4)],
        deletes: 2,
        reads_one_in: 6,
        libraries_one_in: 2,
        again_one_in: 3,
        readers_one_in: 8,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Partitions that are to be split or merged while their views change, and primaries' words come late (rule
/// `splits and merges are bound to views`).
pub(crate) const OVERTAKEN: Scenario = Scenario {
    name: "overtaken",
    faults: &[
        ("split", 16),
        ("merge", 16),
        ("slow control", 12),
        ("a member less", 16),
        ("another primary", 8),
        ("cut one way", 2),
    ],
    ..PARTING
};

/// Tables that go offline and come back, between restarts, splits, merges and the cleaner.
pub(crate) const OFFLINE: Scenario = Scenario {
    name: "offline",
    faults: &[
        ("offline", 16),
        ("kill", 4),
        ("kill of all", 4),
        ("kill at an effect", 2),
        ("split", 4),
        ("merge", 4),
        ("a member less", 2),
        ("another primary", 2),
    ],
    ..CLEANING
};

/// Tables of which there is one copy.
pub(crate) const ALONE: Scenario = Scenario {
    name: "alone",
    cluster: ClusterOf {
        replicas: &[1],
        fsync_one_in: 2,
        ..CLEANING.cluster
    },
    faults: &[
        ("kill", 8),
        ("kill at an effect", 4),
        ("power cut", 8),
        ("full disk", 4),
        ("slow disk", 2),
        ("stuck disk", 2),
        ("offline", 2),
        ("split", 2),
        ("merge", 2),
        ("pause", 2),
    ],
    habits: Habits {
        keys: 8,
        forms: &[
            (Form::One, 12),
            (Form::Burst, 4),
            (Form::Pair, 2),
            (Form::BriefPair, 1),
            (Form::WriteMany, 2),
            (Form::Watch, 1),
            (Form::Clear, 1),
        ],
        ..DELETING
    },
    ..CLEANING
};

/// Transactions over several partitions, while everything goes wrong that can.
pub(crate) const APART: Scenario = Scenario {
    name: "apart",
    cluster: ClusterOf {
        bricks: &[1, 1, 2],
        partitions: &[2, 4],
        disk_one_in: 4,
        ..DENSE.cluster
    },
    faults: &[],
    count: [2, 16],
    habits: Habits {
        keys: 2,
        forms: &[
            (Form::One, 2),
            (Form::ApartPair, 12),
            (Form::Watch, 1),
            (Form::Scan, 1),
            (Form::Export, 1),
        ],
        bricks_one_in: 8,
        libraries_one_in: 8,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Keys go from one table to the other and back, while everything goes wrong that can (rules `an anchor decides` and
/// `two tables are answered for last`).
pub(crate) const BETWEEN: Scenario = Scenario {
    name: "between",
    cluster: ClusterOf {
        bricks: &[1, 1, 2],
        tables: &[2],
        names: ["1", "2"],
        partitions: &[1, 2, 4],
        disk_one_in: 4,
        ..DENSE.cluster
    },
    faults: &[],
    count: [2, 16],
    habits: Habits {
        keys: 3,
        forms: &[
            (Form::One, 2),
            (Form::Move, 16),
            (Form::ApartPair, 2),
            (Form::Export, 1),
        ],
        bricks_one_in: 8,
        libraries_one_in: 8,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Control logs that hang, are slow or full, and views that have to change meanwhile: nobody may be held up by who leads.
pub(crate) const LEADS: Scenario = Scenario {
    name: "leads",
    faults: &[
        ("stuck control disk", 8),
        ("slow control disk", 4),
        ("full control disk", 8),
        ("another primary", 16),
        ("a member less", 8),
        ("kill", 1),
        ("kill of the leader", 1),
        ("pause", 1),
        ("cut", 1),
        ("cut one way", 1),
        ("stuck disk", 1),
        ("full disk", 1),
    ],
    length_ms: [8_000, 20_000],
    ..DENSE
};

/// Clients that keep what they read, while primaries change in every way (rules `a write waits for leases` and
/// `leases end before another writes`).
pub(crate) const LEASED: Scenario = Scenario {
    name: "leases",
    cluster: ClusterOf {
        bricks: &[1, 1, 2],
        extras: ExtrasOf {
            leases: Leases::Granted,
            ..PLAIN
        },
        ..DENSE.cluster
    },
    faults: &[
        ("another primary", 16),
        ("kill", 3),
        ("kill at an effect", 2),
        ("kill of all", 1),
        ("power cut", 1),
        ("a member less", 4),
        ("pause", 8),
        ("no control", 4),
        ("slow control", 6),
        ("isolation", 3),
        ("cut one way", 3),
        ("slow link", 4),
        ("broken connections", 3),
        ("hermit", 3),
        ("split", 3),
        ("merge", 3),
        ("offline", 1),
        ("drift", 2),
    ],
    operations: [300, 600],
    habits: Habits {
        keys: 1,
        forms: &[
            (Form::One, 10),
            (Form::Burst, 2),
            (Form::WriteMany, 1),
            (Form::Clear, 1),
        ],
        kinds: &[
            (Kind::Number, 1),
            (Kind::Text, 4),
            (Kind::Steady, 1),
            (Kind::Passing, 1),
        ],
        bricks_one_in: 2,
        readers_one_in: NEVER,
        libraries_one_in: 4,
        keeps: true,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Somebody follows what changes, while who may tell of it changes in every way (rules `only committed changes are told` and
/// `a change is told once, in order, or compacted`).
pub(crate) const FOLLOWED: Scenario = Scenario {
    name: "followed",
    cluster: ClusterOf {
        bricks: &[1, 1, 2],
        partitions: &[1, 2],
        extras: ExtrasOf {
            history: 64 << 10,
            ..PLAIN
        },
        ..DENSE.cluster
    },
    faults: &[
        ("another primary", 16),
        ("a member less", 8),
        ("kill", 4),
        ("kill at an effect", 3),
        ("kill of all", 1),
        ("power cut", 2),
        ("pause", 3),
        ("isolation", 2),
        ("cut one way", 3),
        ("slow link", 3),
        ("broken connections", 4),
        ("hermit", 2),
        ("slow disk", 2),
        ("slow control", 4),
        ("split", 12),
        ("merge", 12),
        ("offline", 1),
        ("drift", 1),
    ],
    habits: Habits {
        forms: &[
            (Form::One, 40),
            (Form::Burst, 12),
            (Form::WriteMany, 8),
            (Form::Pair, 8),
            (Form::BriefPair, 4),
            (Form::ApartPair, 10),
            (Form::Watch, 4),
            (Form::Clear, 1),
        ],
        deletes: 2,
        readers_one_in: 8,
        libraries_one_in: 2,
        again_one_in: 3,
        follows: true,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Clients that do not hold the map find their way from brick to brick, while what they were told is overtaken by splits, merges and
/// views, and bricks have maps of different versions.
pub(crate) const LOOKED_UP: Scenario = Scenario {
    name: "lookups",
    cluster: ClusterOf {
        nodes: &[3, 4, 5],
        bricks: &[1, 1, 2],
        replicas: &[2, 3],
        partitions: &[2, 4, 8],
        ..DENSE.cluster
    },
    faults: &[
        ("split", 16),
        ("merge", 12),
        ("another primary", 12),
        ("a member less", 8),
        ("slow control", 8),
        ("kill", 4),
        ("kill at an effect", 2),
        ("kill of all", 1),
        ("pause", 3),
        ("no control", 3),
        ("cut one way", 2),
        ("broken connections", 3),
    ],
    habits: Habits {
        keys: 8,
        forms: &[(Form::One, 1)],
        reads_one_in: 3,
        libraries_one_in: 1,
        looks_up: true,
        ..Habits::USUAL
    },
    ..DENSE
};

/// Tables whose hash function clients do not know, so that bricks pass on what is not theirs. Some partitions are runs of keys.
pub(crate) const HASHED: Scenario = Scenario {
    name: "hashed",
    cluster: ClusterOf {
        bricks: &[1, 1, 2],
        partitions: &[1, 2, 4],
        extras: ExtrasOf {
            hashes: &[
                "keyed",
                "ordered FROM first:n0 TO second:t9",
                "ordered FROM {first:b0}left TO {second:y9}right",
            ],
            ..PLAIN
        },
        ..DENSE.cluster
    },
    faults: &[
        ("split", 16),
        ("merge", 12),
        ("another primary", 8),
        ("a member less", 6),
        ("kill", 6),
        ("kill at an effect", 3),
        ("kill of all", 2),
        ("power cut", 2),
        ("pause", 3),
        ("isolation", 3),
        ("cut one way", 3),
        ("slow control", 4),
        ("broken connections", 3),
        ("offline", 1),
    ],
    habits: Habits {
        forms: &[
            (Form::One, 30),
            (Form::Burst, 4),
            (Form::Scan, 6),
            (Form::ReadMany, 4),
            (Form::WriteMany, 4),
            (Form::Pair, 6),
            (Form::BriefPair, 2),
            (Form::ApartPair, 6),
            (Form::Watch, 3),
            (Form::Export, 3),
        ],
        deletes: 2,
        bricks_one_in: 2,
        ..Habits::USUAL
    },
    ..DENSE
};

/// All of them.
pub static SCENARIOS: [&Scenario; 21] = [
    &USUAL, &POWER, &CALM, &VIEWS, &READS, &CLEANING, &SYNCS, &LEARNING, &RETRIES, &CUTS, &PARTING,
    &OVERTAKEN, &OFFLINE, &ALONE, &LEADS, &APART, &BETWEEN, &LEASED, &FOLLOWED, &LOOKED_UP,
    &HASHED,
];
