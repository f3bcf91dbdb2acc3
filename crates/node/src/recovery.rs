//! From a brick's log on disk to a brick that can serve.
//!
//! In:  the brick's directory and the catalog. Out: the brick, and its log open for writing.
//!
//! The store reports damage when it has read everything; the brick wants to hear of it between the
//! records before and behind, which tell it what can be missing. So a damaged log is read twice. That
//! is rare, and takes no longer than reading the file once more by hand would.

use brickyard_brick::{Brick, BrickConfig, HintItem, LogDamage, LogRecord, LogReplay};
use brickyard_metadata::Catalog;
use brickyard_store::{self as store, Damage, Disk, HintRecord, Opened, Tainted};
use brickyard_types::record::Kind;
use brickyard_types::{BrickId, Instant, Op, PartitionId, Position, SegmentId, UnixMillis};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A brick and its log.
pub struct RecoveredBrick<D: Disk> {
    /// As its log has it.
    pub brick: Brick,
    /// For what comes next.
    pub opened: Opened<D>,
}

/// Reads the log and makes the brick; `make` gives what the brick is made of.
///
/// # Errors
/// What the store says; nothing was changed.
pub fn recover<D: Disk>(
    disk: &D,
    config: &store::LogConfig,
    catalog: &Arc<Catalog>,
    now: impl Fn() -> (Instant, UnixMillis),
    make: impl Fn() -> BrickConfig,
) -> Result<RecoveredBrick<D>, store::StoreError> {
    let (started, _) = now();
    let id = config.brick;
    let mut recovered = replay(disk, config, now(), make(), VecDeque::new())?;
    if !recovered.opened.report.damages.is_empty() {
        let report = &recovered.opened.report;
        let damages = report.damages.iter();
        let damages = damages
            .map(|damage| translate(damage, report, id, catalog))
            .collect();
        drop(recovered);
        recovered = replay(disk, config, now(), make(), damages)?;
    }
    report(id, &recovered.opened.report, now().0 - started);
    Ok(recovered)
}

fn replay<D: Disk>(
    disk: &D,
    config: &store::LogConfig,
    now: (Instant, UnixMillis),
    make: BrickConfig,
    damages: VecDeque<LogDamage>,
) -> Result<RecoveredBrick<D>, store::StoreError> {
    let mut brick = Brick::new(make);
    brick.begin_turn(now.0, now.1);
    // The store asks which values are needed while it hands out records; it does never both at once.
    let recovery = RefCell::new(LogReplay::of(brick));
    let mut damages = damages;
    let needs_values = |partition| recovery.borrow().needs_values(partition);
    let mut visit = |record: store::RecoveredRecord<'_>| {
        let position = match record {
            store::RecoveredRecord::Record { position, .. }
            | store::RecoveredRecord::Hint { position, .. } => position,
        };
        let mut recovery = recovery.borrow_mut();
        while let Some(damage) = damages.pop_front_if(|damage| damage.position < position) {
            recovery.on_damage(damage);
        }
        match record {
            store::RecoveredRecord::Record { record, position } => {
                recovery.on_record(&LogRecord::Whole { record, position });
            }
            store::RecoveredRecord::Hint { record, position } => {
                recover_hint(&mut recovery, &record, position)
            }
        }
    };
    let mut opened = store::open(disk.clone(), config.clone(), &needs_values, &mut visit)?;
    let mut recovery = recovery.into_inner();
    read_suffixes(&mut recovery, &mut opened);
    for damage in damages {
        recovery.on_damage(damage);
    }
    let active = opened.report.end.segment;
    let sealed: Vec<_> = opened
        .report
        .segments
        .iter()
        .filter(|summary| summary.segment != active)
        .map(|summary| (summary.segment, summary.record_bytes))
        .collect();
    let brick = recovery.end(&sealed, active);
    Ok(RecoveredBrick { brick, opened })
}

/// Reads what the brick needs whole and hint files know in part.
fn read_suffixes<D: Disk>(recovery: &mut LogReplay, opened: &mut Opened<D>) {
    let end = opened.report.end;
    for position in recovery.suffixes_wanted() {
        let Position { segment, offset } = position;
        match opened.reader.scan_chunk(segment, offset, 1, end) {
            Ok(chunk) => {
                let found = chunk.records().find(|(at, _)| *at == position);
                if let Some((_, record)) = found {
                    recovery.on_suffix(position, &record);
                }
            }
            Err(error) => tracing::warn!(%position, %error, "a record cannot be read"),
        }
    }
}

fn recover_hint(recovery: &mut LogReplay, hint: &HintRecord<'_>, position: Position) {
    let bounded = |value_len: usize| u32::try_from(value_len).unwrap_or(u32::MAX);
    let mut put_back = |items: &[HintItem<'_>]| {
        recovery.on_record(&LogRecord::Hint {
            header: hint.header,
            outcome: hint.outcome,
            items,
            position,
        });
    };
    if hint.header.kind != Kind::Batch {
        return put_back(&[HintItem {
            kind: hint.header.kind,
            flags: hint.header.flags,
            key: Cow::Borrowed(hint.key),
            value_len: bounded(hint.value_len),
            expires_at: hint.header.expires_at,
        }]);
    }
    // As one: a replicated partition's log is counted by its records.
    let entries = hint.entries().map(|entry| HintItem {
        kind: entry.kind,
        flags: hint.header.flags | entry.flags,
        key: Cow::Borrowed(entry.key),
        value_len: bounded(entry.value_len),
        expires_at: entry.expires_at,
    });
    put_back(&entries.collect::<Vec<_>>());
}

fn translate(
    damage: &Damage,
    report: &store::RecoveryReport,
    brick: BrickId,
    catalog: &Catalog,
) -> LogDamage {
    let partitions: Vec<(PartitionId, Option<Op>)> = match &damage.tainted {
        Tainted::Nothing => Vec::new(),
        Tainted::Op(partition, op) => vec![(*partition, Some(*op))],
        Tainted::Partitions(partitions) => partitions.iter().map(|id| (*id, None)).collect(),
        Tainted::All => partitions_of(brick, catalog).map(|id| (id, None)).collect(),
    };
    LogDamage {
        position: Position {
            segment: damage.segment,
            offset: damage.offset,
        },
        len: u64::from(damage.len),
        partitions,
        is_suspicion: damage.tainted == Tainted::All && has_all_before(report, damage.segment),
        text: damage.to_string(),
    }
}

/// Whether no segment before this one has gone: what the cleaner may have moved into it then stands where it was as well, and
/// so do the tombstones that a watermark speaks of.
fn has_all_before(report: &store::RecoveryReport, segment: SegmentId) -> bool {
    let before = report.segments.iter().map(|summary| summary.segment);
    let before = before.filter(|it| *it < segment);
    let missing = u64::from(segment.0)
        .saturating_sub(1)
        .abs_diff(before.count() as u64);
    missing == 0
}

fn partitions_of(brick: BrickId, catalog: &Catalog) -> impl Iterator<Item = PartitionId> {
    catalog.tables().flat_map(move |table| {
        let leaves = table
            .map
            .partitions()
            .leaves()
            .iter()
            .zip(table.map.groups());
        leaves
            .filter(move |(_, group)| group.members().any(|replica| replica.member.brick == brick))
            .map(|(leaf, _)| leaf.partition)
    })
}

fn report(brick: BrickId, report: &store::RecoveryReport, took: Duration) {
    for damage in &report.damages {
        tracing::error!(
            brick = brick.0,
            segment = damage.segment.0,
            offset = damage.offset,
            len = damage.len,
            %damage,
            "the log is damaged; keys that it may concern are not served until they are written \
             again. `brickyard inspect` shows and repairs it"
        );
    }
    if let Some(cut) = &report.torn {
        tracing::warn!(brick = brick.0, %cut, "the last stop was a crash");
    }
    tracing::info!(
        brick = brick.0,
        records = report.records,
        from_hints = report.records_from_hints,
        segments = report.segments.len(),
        milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "log read"
    );
}
