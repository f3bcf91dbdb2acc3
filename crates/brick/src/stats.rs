//! A brick's counters: plain numbers that one brick writes and any thread may read.

use crate::followers::Followers;
use brickyard_types::TableId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

impl LogStats {
    pub(crate) fn note_healed(&self, texts: impl Iterator<Item = String>) {
        if let Ok(mut healed) = self.healed.write() {
            healed.extend(texts);
        }
    }

    /// Damage that was there at the start and has healed since.
    #[must_use]
    pub fn healed(&self) -> Vec<String> {
        let healed = self.healed.read();
        healed.map(|texts| texts.clone()).unwrap_or_default()
    }
}

/// A number that one thread changes and others read.
///
/// The writer is alone, so a load and a store do for an addition and cost no locked instruction.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number now.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

/// Upper bounds of [`CommandStats`]' buckets are powers of two of microseconds, from 1 us.
pub const LATENCY_BUCKETS: usize = 32;

/// Calls of one command.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CommandStats {
    /// How often it was executed.
    pub calls: Counter,
    /// How often it was answered with an error while it was executed.
    pub failed: Counter,
    /// How often it was refused before it was executed.
    pub rejected: Counter,
    /// Time spent, in nanoseconds.
    pub nanoseconds: Counter,
    /// Calls by duration: bucket `i` counts those of at most `2^i` microseconds (and more than the
    /// bucket before). Durations of fast commands are their batch's mean.
    pub latency: [Counter; LATENCY_BUCKETS],
}

/// One table's share on a brick.
#[derive(Debug, Default)]
pub struct TableStats {
    /// Keys.
    pub keys: Counter,
    /// Keys that expire.
    pub expires: Counter,
    /// Mean time to live of those, in milliseconds.
    pub ttl_mean_ms: Counter,
    /// Bytes of memory: records, index and space not yet reused.
    pub memory: Counter,
    /// Reads that found their key.
    pub hits: Counter,
    /// Reads that did not.
    pub misses: Counter,
    /// Writes committed.
    pub writes: Counter,
    /// Keys removed because their time had come.
    pub expired: Counter,
    /// Keys removed (`ram`), or values left to the log alone (`disk`), to stay within `MAXMEMORY`.
    pub evicted: Counter,
    /// Values read back from the log.
    pub cold_reads: Counter,
}

/// Clients that keep copies of keys (`CLIENT TRACKING`).
#[derive(Debug, Default)]
pub struct TrackingStats {
    /// Such clients.
    pub clients: Counter,
    /// Keys that some may have copies of.
    pub keys: Counter,
    /// Pairs of a key and a client.
    pub items: Counter,
    /// Prefixes that some listen to.
    pub prefixes: Counter,
    /// Keys that some may keep under leases.
    pub leased: Counter,
}

/// Clients that follow a table (`WATCHKEYS`), and what is kept for them.
#[derive(Debug, Default)]
pub struct FeedStats {
    /// Clients of this brick that wait for a change.
    pub waiting: Counter,
    /// Clients that were told that what they have not seen is not kept any more.
    pub compacted: Counter,
    /// Bytes of changes that this brick keeps.
    pub history_bytes: Counter,
}

/// What a brick counts of its clients.
#[derive(Debug, Default)]
pub struct ClientStats {
    /// Clients connected now.
    pub connected: Counter,
    /// Clients that ever connected.
    pub accepted: Counter,
    /// Clients refused because there were too many.
    pub refused: Counter,
    /// Bytes received from clients.
    pub bytes_in: Counter,
    /// Bytes sent to clients.
    pub bytes_out: Counter,
    /// Bytes of memory in connections' buffers.
    pub buffer_bytes: Counter,
    /// About the most of it that one connection has.
    pub worst_buffer_bytes: Counter,
    /// Clients that were closed since all clients' buffers together took more than they may.
    pub evicted: Counter,
    /// Requests that came back unexecuted, since there was no room for their replies at their clients.
    pub held_back: Counter,
    /// Messages to channels that did not leave for another node: it took none, or there was no room.
    pub messages_lost: Counter,
    /// Frames that were no requests; the connection was closed.
    pub protocol_errors: Counter,
}

/// Replies that were errors. What is refused before it is looked at is counted apart from others.
#[derive(Debug, Default)]
pub struct ErrorStats {
    /// Error replies.
    pub replied: Counter,
    /// Requests refused at once because a queue was full (`-BUSY`).
    pub busy: Counter,
    /// Writes refused because a table was full (`-OOM`).
    pub memory: Counter,
    /// Writes refused because the log could not take them (full disk).
    pub disk: Counter,
    /// Requests refused because what they ask for is known to be damaged.
    pub damaged: Counter,
    /// Requests and logins refused because their user has a limit (`-LIMIT`).
    pub limited: Counter,
}

/// What a brick counts of transactions over several partitions.
#[derive(Debug, Default)]
pub struct DistributedStats {
    /// Those that have committed here.
    pub committed: Counter,
    /// Attempts that came upon another one and were made again.
    pub retried: Counter,
    /// Attempts whose anchor's partition has another primary, or had one meanwhile.
    pub moved: Counter,
    /// Intents that were resolved without their coordinator.
    pub recovered: Counter,
}

/// What a brick counts of lookups that it was asked by (`CLUSTER LOOKUP`).
#[derive(Debug, Default)]
pub struct LookupStats {
    /// Those that it answered with the partition that was looked for.
    pub answered: Counter,
    /// Those that it answered with one that is nearer.
    pub forwarded: Counter,
    /// Hops that those which it answered have taken by then, by what those who asked say.
    pub hops: Counter,
}

/// What a brick counts of its log.
#[derive(Debug, Default)]
pub struct LogStats {
    /// Batches appended.
    pub batches: Counter,
    /// Bytes appended.
    pub bytes: Counter,
    /// Bytes of prepared writes that wait for the log.
    pub pending_bytes: Counter,
    /// Segments.
    pub segments: Counter,
    /// Bytes that are live.
    pub live_bytes: Counter,
    /// Bytes of the files.
    pub file_bytes: Counter,
    /// Segments that the cleaner removed.
    pub segments_cleaned: Counter,
    /// Bytes that the cleaner moved.
    pub moved_bytes: Counter,
    /// Damage that was there at the start and has healed since, in the words of that time.
    healed: RwLock<Vec<String>>,
}

/// Everything one brick counts.
///
/// The next brick's counters are on other cache lines, and not on the neighbours that processors fetch along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Stats {
    /// Its clients.
    pub clients: ClientStats,
    /// Replies that were errors.
    pub errors: ErrorStats,
    /// Its log.
    pub log: LogStats,
    /// Its transactions over several partitions.
    pub distributed: DistributedStats,
    /// Lookups on their way through it.
    pub lookups: LookupStats,
    /// Copies that its clients keep.
    pub tracking: TrackingStats,
    /// Clients that follow a table.
    pub feeds: FeedStats,
    /// Commands executed.
    pub commands: Counter,
    /// Requests passed to other bricks of the node.
    pub forwards: Counter,
    /// Turns of the loop.
    pub turns: Counter,
    /// How much of a core's time the loop takes, in thousandths, over some seconds.
    pub busy: Counter,
    /// Calls by command, indexed by `CommandId`.
    pub commands_by_id: Vec<CommandStats>,
    /// How far other nodes are behind what this brick leads.
    pub followers: Followers,
    /// Tables on this brick. Locked for a new table and by readers, never on a request's path.
    pub tables: RwLock<BTreeMap<TableId, Arc<TableStats>>>,
}

impl Stats {
    /// All zero, with room for every command.
    #[must_use]
    pub fn new() -> Self {
        let mut stats = Self::default();
        stats
            .commands_by_id
            .resize_with(brickyard_command::CommandId::COUNT, CommandStats::default);
        assert_eq!(
            stats.commands_by_id.len(),
            brickyard_command::CommandId::COUNT,
            "each command is counted"
        );
        stats
    }

    /// Sets what counts events, but not what measures a state, back to zero.
    ///
    /// A brick that counts in the same moment may bring one count back: nothing is built on these.
    pub(crate) fn reset(&self) {
        let counters = [
            &self.clients.accepted,
            &self.clients.refused,
            &self.commands,
            &self.clients.bytes_in,
            &self.clients.bytes_out,
            &self.errors.replied,
            &self.errors.busy,
            &self.errors.memory,
            &self.errors.disk,
            &self.errors.damaged,
            &self.errors.limited,
            &self.clients.protocol_errors,
            &self.clients.held_back,
            &self.clients.evicted,
            &self.feeds.compacted,
            &self.forwards,
            &self.lookups.answered,
            &self.lookups.forwarded,
            &self.lookups.hops,
        ];
        let commands = self.commands_by_id.iter().flat_map(|command| {
            let own = [
                &command.calls,
                &command.failed,
                &command.rejected,
                &command.nanoseconds,
            ];
            own.into_iter().chain(&command.latency)
        });
        for counter in counters.into_iter().chain(commands) {
            counter.set(0);
        }
        for table in self.tables().values() {
            for counter in [&table.hits, &table.misses, &table.expired, &table.evicted] {
                counter.set(0);
            }
        }
    }

    /// The statistics of every table on this brick.
    #[must_use]
    pub fn tables(&self) -> BTreeMap<TableId, Arc<TableStats>> {
        self.tables
            .read()
            .map(|tables| tables.clone())
            .unwrap_or_default()
    }
}
