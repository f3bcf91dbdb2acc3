//! `TABLE EXPORT`: a partition as it was at one op, piece by piece, while writes go on.
//!
//! In:  requests of one connection, values as they are read back from the log. Out: pieces.
//!
//! Invariants:
//! - An export has all that was acknowledged before it began, and nothing that was not committed then: it begins at
//!   a primary that may serve, which knows the outcome of all that it inherited (PROTOCOL rules 5 and 22).
//! - A connection has one export at most, which ends with it, and when nobody asks on for a while. So many at a time
//!   are more than enough for backups, and a bound on what they preserve.
//! - While a table of medium `disk` is exported no segment of the log goes: values may be there alone.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::core::Core;
use crate::effect::{ColdRead, Effect};
use crate::gather::{Gather, Join};
use crate::offline::offline;
use crate::output::Gate;
use crate::request::Token;
use brickyard_command::ErrorReply;
use brickyard_command::request::ExportPiece;
use brickyard_table::{LocalPartition, SnapshotId, Spoilt, Value};
use brickyard_types::{Instant, Medium, Op, PartitionId, Position, UnixMillis, View};
use brickyard_wire::Reply;
use std::time::Duration;

/// Bytes of a piece, at most by one step's more.
const PIECE_BYTES: usize = 256 << 10;

/// Records that are read between two looks at how many bytes they had; about twenty more may come, and each may
/// have the longest value there is.
const STEP: usize = 1;

/// Exports at a time: each may take memory ([`PRESERVED_BYTES_MAX`]), and keep segments from going.
const EXPORTS_MAX: usize = 16;

/// What may be overwritten ahead of an export, in bytes.
const PRESERVED_BYTES_MAX: usize = 64 << 20;

/// An export that nobody goes on with ends after this.
const PATIENCE: Duration = Duration::from_secs(30);

/// Marks reads for exports among all reads of values.
const TOKEN: u64 = 1 << 63;

/// Whether the read with `token` was made for an export.
pub(crate) const fn is_of_export(token: u64) -> bool {
    token & TOKEN != 0
}

/// The exports of a brick.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    open: Vec<Export>,
    token_next: u64,
}

#[derive(Debug)]
struct Export {
    connection: ConnectionId,
    table: usize,
    partition: PartitionId,
    medium: Medium,
    snapshot: SnapshotId,
    at: At,
    /// Records up to this op come without their values.
    after: Option<Op>,
    asked: Instant,
    /// A piece of which values are still being read.
    unfinished: Option<Piece>,
}

/// What is exported.
#[derive(Debug, Clone, Copy)]
struct At {
    view: View,
    op: Op,
    lineage: u32,
}

#[derive(Debug)]
struct Piece {
    token: Token,
    rows: Vec<Row>,
    has_more: bool,
    /// By token, and which row each read is for.
    reads: Vec<(u64, usize)>,
}

#[derive(Debug)]
struct Row {
    key: Vec<u8>,
    op: Op,
    expires_at: Option<UnixMillis>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Whoever asks has it.
    Known,
    Here(Vec<u8>),
    InLog {
        position: Position,
        len: usize,
    },
}

impl Exports {
    /// Whether segments must stay.
    pub(crate) fn need_log(&self) -> bool {
        self.open.iter().any(|it| it.medium == Medium::Disk)
    }

    fn of(&mut self, connection: ConnectionId) -> Option<&mut Export> {
        self.open.iter_mut().find(|it| it.connection == connection)
    }
}

impl Brick {
    pub(super) fn export(
        &mut self,
        id: ConnectionId,
        name: &str,
        partition: PartitionId,
        piece: ExportPiece,
    ) -> Result<(), ErrorReply> {
        if let ExportPiece::First(after) = piece {
            self.end_export(id);
            self.begin_export(id, name, partition, after.map(Op))?;
        }
        let now = self.core.now;
        let export = self.exports.of(id).filter(|it| it.partition == partition);
        let Some(export) = export else {
            return Err(ErrorReply::new(format!(
                "ERR this connection has no export of partition {partition} of table '{name}' under way, or it ended; \
                 begin it anew, without NEXT"
            )));
        };
        if export.unfinished.is_some() {
            return Err(ErrorReply::constant(
                "ERR the piece before is still being read; ask for the next one when it has come",
            ));
        }
        export.asked = now;
        let (rows, has_more) = match export.read(&mut self.core) {
            Ok(read) => read,
            Err(spoilt) => {
                self.end_export(id);
                return Err(refusal(partition, spoilt));
            }
        };
        self.send_piece(id, rows, has_more);
        Ok(())
    }

    fn begin_export(
        &mut self,
        connection: ConnectionId,
        name: &str,
        id: PartitionId,
        after: Option<Op>,
    ) -> Result<(), ErrorReply> {
        if self.exports.open.len() >= EXPORTS_MAX {
            return Err(ErrorReply::new(format!(
                "BUSY this brick exports {EXPORTS_MAX} partitions already; begin when one of them has ended"
            )));
        }
        let table = self.core.table_named(name)?;
        let (local, at) = self.core.exportable(table, id)?;
        let Some(state) = self.core.table_mut(table) else {
            return Err(refusal(id, Spoilt::Cleared));
        };
        let snapshot = state
            .table
            .begin_snapshot(local, at.op, PRESERVED_BYTES_MAX);
        self.exports.open.push(Export {
            connection,
            table,
            partition: id,
            medium: state.attributes.medium,
            snapshot,
            at,
            after,
            asked: self.core.now,
            unfinished: None,
        });
        Ok(())
    }

    pub(super) fn list_exportable(
        &mut self,
        id: ConnectionId,
        name: &str,
    ) -> Result<(), ErrorReply> {
        let table = self.core.table_named(name)?;
        let state = self.core.table(table);
        let places = state.map(|it| it.map.partitions().leaves());
        let led: Vec<u32> = places
            .into_iter()
            .flatten()
            .map(|place| place.partition)
            .filter(|it| self.core.exportable(table, *it).is_ok())
            .map(|it| it.0)
            .collect();
        self.reply(id, |reply| {
            reply.array(led.len());
            for partition in led {
                reply.integer(i64::from(partition));
            }
        });
        Ok(())
    }

    /// Replies with a piece, once the values that are in the log alone were read.
    fn send_piece(&mut self, id: ConnectionId, rows: Vec<Row>, has_more: bool) {
        let protocol = self.clients[id].session.protocol;
        let token = self.open_gather(id, Gather::new(Join::Only, protocol, 1));
        let Some(export) = self.exports.open.iter_mut().find(|it| it.connection == id) else {
            return;
        };
        let is_divided = self
            .core
            .table(export.table)
            .is_some_and(|it| it.is_divided);
        let mut reads = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if let Content::InLog { position, len } = row.content {
                self.exports.token_next += 1;
                let token = TOKEN | self.exports.token_next;
                reads.push((token, at));
                self.core.effects.push_back(Effect::Read(ColdRead {
                    token,
                    position,
                    partition: (!is_divided).then_some(export.partition),
                    op: row.op,
                    key: row.key.clone(),
                    value_len: len as u32,
                }));
            }
        }
        export.unfinished = Some(Piece {
            token,
            rows,
            has_more,
            reads,
        });
        self.finish_piece(id);
    }

    pub(crate) fn on_export_read(&mut self, token: u64, value: Result<&[u8], String>) {
        let is_it = |it: &(u64, usize)| it.0 == token;
        let waiting = self.exports.open.iter_mut().find_map(|it| {
            let piece = it.unfinished.as_mut()?;
            let at = piece.reads.iter().position(is_it)?;
            Some((it.connection, piece, at))
        });
        let Some((id, piece, at)) = waiting else {
            return;
        };
        let (_, row) = piece.reads.swap_remove(at);
        match value {
            Ok(value) => {
                piece.rows[row].content = Content::Here(value.to_vec());
                self.finish_piece(id);
            }
            Err(text) => {
                let token = piece.token;
                self.core.stats().refused_damaged.add(1);
                self.end_export(id);
                let error = ErrorReply::new(format!(
                    "DAMAGED a value could not be read back, so the export ended: {text}. Run \"brickyard inspect\" on \
                     the data directory"
                ));
                self.on_part(token, crate::keyed::error_line(&error), Gate::OPEN);
            }
        }
    }

    fn finish_piece(&mut self, id: ConnectionId) {
        let protocol = match self.clients.get(id) {
            Some(connection) => connection.session.protocol,
            None => return,
        };
        let Some(export) = self.exports.of(id) else {
            return;
        };
        let Some(piece) = export.unfinished.take_if(|piece| piece.reads.is_empty()) else {
            return;
        };
        let mut bytes = Vec::new();
        piece.render(export.at, &mut Reply::new(&mut bytes, protocol));
        if !piece.has_more {
            self.end_export(id);
        }
        self.on_part(piece.token, bytes, Gate::OPEN);
    }

    /// The connection's export is over, if it has one.
    pub(crate) fn end_export(&mut self, id: ConnectionId) {
        if let Some(at) = self.exports.open.iter().position(|it| it.connection == id) {
            let export = self.exports.open.swap_remove(at);
            if let Some(state) = self.core.table_mut(export.table) {
                state.table.end_snapshot(export.snapshot);
            }
            // The cleaner waited for it.
            self.on_clean_synced();
        }
    }

    /// A table went out of memory, and with it what exports of it were to be of.
    pub(crate) fn end_exports_of(&mut self, table: usize) {
        let ended: Vec<Export> = self
            .exports
            .open
            .extract_if(.., |it| it.table == table)
            .collect();
        let name = self.core.table(table).map(|it| it.name.clone());
        let error = offline(&name.unwrap_or_default());
        for piece in ended.into_iter().filter_map(|it| it.unfinished) {
            self.on_part(piece.token, crate::keyed::error_line(&error), Gate::OPEN);
        }
    }

    /// Ends exports that were given up.
    pub(crate) fn end_idle_exports(&mut self) {
        let now = self.core.now;
        let is_idle = |it: &&Export| it.unfinished.is_none() && now - it.asked > PATIENCE;
        while let Some(id) = self
            .exports
            .open
            .iter()
            .find(is_idle)
            .map(|it| it.connection)
        {
            self.end_export(id);
        }
    }
}

impl Core {
    fn table_named(&self, name: &str) -> Result<usize, ErrorReply> {
        self.table_by_name.get(name).copied().ok_or_else(|| {
            ErrorReply::new(format!(
                "ERR there is no table '{name}'; TABLE LIST shows those there are"
            ))
        })
    }

    /// The partition's place in its table here, and what an export of it would be of.
    fn exportable(
        &self,
        table: usize,
        id: PartitionId,
    ) -> Result<(LocalPartition, At), ErrorReply> {
        let state = self.table(table);
        let leaf = state.and_then(|it| it.map.partitions().index_of(id));
        let Some((state, leaf)) = state.zip(leaf) else {
            return Err(ErrorReply::new(format!(
                "ERR there is no partition {id} in this table; CLUSTER SHARDS and \"brickyard status\" show those there are"
            )));
        };
        if let Some(error) = state.refusal() {
            return Err(error);
        }
        let owner = state.owner(leaf as u32);
        if owner != self.member() {
            return Err(ErrorReply::new(format!(
                "ERR partition {id} is led by brick {owner}; ask that one"
            )));
        }
        let partition = state.partitions.get(leaf).and_then(Option::as_ref);
        let serves = |it: &&crate::core::Partition| {
            let is_known = it.inherited <= it.committed || !it.is_replicated;
            it.is_primary() && it.status.serves_reads && is_known && it.clear.is_none()
        };
        let Some(partition) = partition.filter(serves).filter(|_| self.replicas.is_leased) else {
            return Err(ErrorReply::new(format!(
                "CLUSTERDOWN partition {id} cannot be read as a whole now: a view is changing, it is being cleared, or \
                 its node has lost the control plane; nothing was done, try again"
            )));
        };
        // Of a partition with one replica, what is applied counts: its last op may be on its way to the log.
        let applied = state.table.op_max(partition.local);
        let at = At {
            view: partition.view,
            op: if partition.is_replicated {
                partition.committed.max(applied)
            } else {
                applied
            },
            lineage: partition.lineage,
        };
        Ok((partition.local, at))
    }
}

impl Export {
    /// Reads a piece of the snapshot; whether there is more.
    fn read(&self, core: &mut Core) -> Result<(Vec<Row>, bool), Spoilt> {
        let state = core.table_mut(self.table).ok_or(Spoilt::Cleared)?;
        let mut rows = Vec::new();
        let mut bytes = 0;
        loop {
            let has_more = state
                .table
                .read_snapshot(self.snapshot, STEP, |key, found| {
                    let content = match found.value {
                        _ if self.after.is_some_and(|after| found.op <= after) => Content::Known,
                        Value::Hot(value) => Content::Here(value.to_vec()),
                        Value::Cold { len } => Content::InLog {
                            position: found.position,
                            len,
                        },
                    };
                    bytes += key.len() + content.len();
                    rows.push(Row {
                        key: key.to_vec(),
                        op: found.op,
                        expires_at: found.expires_at,
                        content,
                    });
                })?;
            if !has_more || bytes >= PIECE_BYTES {
                return Ok((rows, has_more));
            }
        }
    }
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Self::Known => 0,
            Self::Here(bytes) => bytes.len(),
            Self::InLog { len, .. } => *len,
        }
    }
}

impl Piece {
    fn render(&self, at: At, reply: &mut Reply<'_>) {
        reply.array(5);
        reply.integer(i64::from(self.has_more));
        reply.integer(i64::from(at.view.0));
        reply.integer(at.op.0.cast_signed());
        reply.integer(i64::from(at.lineage));
        reply.array(self.rows.len());
        for row in &self.rows {
            reply.array(4);
            reply.bulk(&row.key);
            reply.integer(row.op.0.cast_signed());
            reply.integer(row.expires_at.map_or(-1, |at| at.0.cast_signed()));
            match &row.content {
                Content::Here(value) => reply.bulk(value),
                Content::Known | Content::InLog { .. } => reply.null(),
            }
        }
    }
}

fn refusal(partition: PartitionId, spoilt: Spoilt) -> ErrorReply {
    let why = match spoilt {
        Spoilt::Overrun => "more was overwritten meanwhile than this brick keeps for it (64 MiB)",
        Spoilt::Cleared | Spoilt::Unknown => {
            "it was cleared, split, merged, dropped or moved away meanwhile"
        }
    };
    ErrorReply::new(format!(
        "ERR the export of partition {partition} ended: {why}; begin it anew"
    ))
}

#[cfg(test)]
#[path = "export_test.rs"]
mod export_test;
