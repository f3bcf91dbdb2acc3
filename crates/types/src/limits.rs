//! Every bound that is fixed in the program, with its reason. Bounds an operator may change are in
//! the server's configuration and start from these.

/// Longest key, in bytes. Long enough for any URL; short enough that an index can be kept in memory.
pub const KEY_BYTES_MAX: usize = 64 * 1024 - 1;

/// Longest value, in bytes (default; `value_bytes_max` lowers it). A larger one would hold up its
/// partition's log for longer than a view change takes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A hash is one record as long as its value has no more bytes than this, and has parts beyond. Up to here one record costs less
/// than the second one that a write to a hash in parts takes.
pub const HASH_WHOLE_BYTES_MAX: usize = 2 * 1024;

/// Most arguments of one command; Redis's own bound.
pub const ARGUMENTS_MAX: usize = 1024 * 1024;

/// Longest inline command or protocol line, in bytes; Redis's own bound.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Deepest leaf of the data-partitioning trie. 2^24 partitions are more than a table of a million
/// nodes needs, and scan cursors have room for so many prefix bits.
pub const PARTITION_DEPTH_MAX: u8 = 24;

/// Longest table name, in bytes.
pub const TABLE_NAME_BYTES_MAX: usize = 128;

/// Most tables of one cluster. Each costs every brick a map entry a partition.
pub const TABLES_MAX: usize = 10_000;

/// Most points that a brick of weight 1 has on the circle of the placement `ring`. More make shares hardly more even (their
/// deviation goes with the root of the number), and each is sorted again when nodes change.
pub const RING_POINTS_MAX: u16 = 1_000;

/// Most points on a circle of the placement `ring`: past that all bricks have fewer in proportion. About what can be sorted
/// in some milliseconds.
pub const RING_POINTS_TOTAL: u64 = 1 << 17;
