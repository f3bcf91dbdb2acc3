//! Logs for the tests.

use crate::config::{LogConfig, PageCache};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::mem_disk::MemDisk;
use crate::recovery::{Opened, RecoveredRecord, RecoveryReport, open};
use crate::segment::header::DirectoryId;
use crate::{AppendError, Appended, Purpose};
use brickyard_types::record::{self, Header, Kind};
use brickyard_types::{BrickId, Op, PartitionId, Position, SegmentId, TableId, View};

pub(crate) const TABLE: TableId = TableId(7);

/// Small segments, no reserve, page cache intact.
pub(crate) fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 2048,
        reserve_bytes: 0,
        page_cache: PageCache::Intact,
        files_open_max: 2,
        ..LogConfig::new(BrickId(3), DirectoryId(*b"fixture-fixture-"))
    }
}

pub(crate) fn header(kind: Kind, partition: u32, op: u64) -> Header {
    Header {
        kind,
        flags: 0,
        table: TABLE,
        partition: PartitionId(partition),
        view: View(1),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: None,
    }
}

/// One put, encoded.
pub(crate) fn put(partition: u32, op: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::encode(&mut bytes, &header(Kind::Put, partition, op), key, &[value]);
    bytes
}

/// What recovery visited, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) header: Header,
    pub(crate) key: Vec<u8>,
    /// `None` from a hint file.
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) value_len: usize,
    pub(crate) position: Position,
}

impl Seen {
    pub(crate) fn of(recovered: &RecoveredRecord<'_>) -> Self {
        match recovered {
            RecoveredRecord::Record { record, position } => Self {
                header: record.header,
                key: record.key.to_vec(),
                value: Some(record.value.to_vec()),
                value_len: record.value.len(),
                position: *position,
            },
            RecoveredRecord::Hint { record, position } => Self {
                header: record.header,
                key: record.key.to_vec(),
                value: None,
                value_len: record.value_len,
                position: *position,
            },
        }
    }
}

/// An open log and what was in it.
pub(crate) struct Log<D: Disk = MemDisk> {
    pub(crate) ends: Opened<D>,
    pub(crate) seen: Vec<Seen>,
}

impl Log<MemDisk> {
    /// A log of three sealed segments with hint files and an active one, all synced: the disk, and
    /// where the ops 1 to 40 are.
    pub(crate) fn sealed() -> (MemDisk, Vec<Position>) {
        let disk = MemDisk::new(1);
        let mut log = Self::open(&disk, config());
        let mut positions = log.fill(1, 20);
        log.sync();
        positions.extend(log.fill(21, 20));
        log.sync();
        log.write_hints();
        assert_eq!(positions[39].segment, SegmentId(4));
        (disk, positions)
    }
}

impl<D: Disk> Log<D> {
    pub(crate) fn try_open(disk: &D, config: LogConfig) -> Result<Self, StoreError> {
        Self::open_needing(disk, config, &|_| true)
    }

    pub(crate) fn open_needing(
        disk: &D,
        config: LogConfig,
        needs_values: &dyn Fn(PartitionId) -> bool,
    ) -> Result<Self, StoreError> {
        let mut seen = Vec::new();
        let ends = open(disk.clone(), config, needs_values, &mut |recovered| {
            seen.push(Seen::of(&recovered));
        })?;
        Ok(Self { ends, seen })
    }

    pub(crate) fn open(disk: &D, config: LogConfig) -> Self {
        Self::try_open(disk, config).unwrap()
    }

    pub(crate) fn report(&self) -> &RecoveryReport {
        &self.ends.report
    }

    /// Appends and hands over rolled segments, as the append thread does.
    pub(crate) fn append(&mut self, batch: &[u8]) -> Result<Appended, AppendError> {
        let result = self.ends.appender.append(batch, Purpose::Store);
        self.hand_over();
        result
    }

    /// Ends the active segment, as the append thread does for a checkpoint.
    pub(crate) fn roll(&mut self) -> Result<(), AppendError> {
        let result = self.ends.appender.roll();
        self.hand_over();
        result
    }

    fn hand_over(&mut self) {
        while let Some(rolled) = self.ends.appender.take_rolled() {
            self.ends.syncer.add_rolled(rolled);
        }
    }

    /// Syncs everything appended so far.
    pub(crate) fn sync(&mut self) {
        let end = self.ends.appender.end();
        self.ends.syncer.sync(end).unwrap();
    }

    /// Writes the hint files of everything sealed so far.
    pub(crate) fn write_hints(&mut self) {
        while let Some(job) = self.ends.syncer.take_hint_job() {
            assert!(job.run().unwrap());
        }
    }

    /// `count` puts of partition 1 from op `first` on, one batch each; keys `k<op>`.
    pub(crate) fn fill(&mut self, first: u64, count: u64) -> Vec<Position> {
        let ops = first..first + count;
        ops.map(|op| {
            let value = format!("value of op {op}, {}", "x".repeat((op * 37 % 150) as usize));
            let batch = put(1, op, format!("k{op}").as_bytes(), value.as_bytes());
            self.append(&batch).unwrap().start
        })
        .collect()
    }

    pub(crate) fn ops(&self) -> Vec<u64> {
        self.seen.iter().map(|seen| seen.header.op.0).collect()
    }
}
