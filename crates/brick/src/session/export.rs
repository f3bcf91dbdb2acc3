//! `TABLE EXPORT`: a partition as it was at one op, piece by piece, while writes go on.
//!
//! In:  requests of one connection, values as they are read back from the log. Out: pieces.
//!
//! Invariants:
//! - An export has all that was acknowledged before it began, and nothing that was not committed then: it begins at
//!   a primary that may serve, which knows the outcome of all that it inherited (rules
//!   `uncommitted ops are voted for again` and `leases count from the request`).
//! - It has no intents: it begins at a moment without one, so what every transaction came to is known.
//! - A connection has one export at most, which ends with it, and when the client has not asked on for a while. So many at a time
//!   are more than enough for backups, and a bound on what they preserve.
//! - While a table of medium `disk` is exported no segment of the log goes: values may be there alone.

use super::lookup::table_named;
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::{ColdRead, Effect};
use crate::gather::{Gather, Join};
use crate::offline::offline;
use crate::refusal::error_line;
use crate::request::Token;
use crate::tables::TableState;
use brickyard_command::hash::{Head, Whole};
use brickyard_command::{ErrorReply, KeyValue, hash, payload_of};
use brickyard_table::{LocalPartition, SnapshotId, Spoilt, ValueRef};
use brickyard_types::{Instant, Medium, Op, PartitionId, Position, UnixMillis, ValueType, View};
use brickyard_wire::Reply;
use std::borrow::Cow;
use std::collections::BTreeMap;
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
    /// Since the cleaner was told last.
    has_ended: bool,
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
    generation: u32,
}

#[derive(Debug)]
struct Piece {
    token: Token,
    rows: Vec<Row>,
    has_more: bool,
    /// By token, and which value each read is for.
    reads: BTreeMap<u64, Wanted>,
}

/// Which value of a piece is read: that of a row, or of a part of it.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    row: usize,
    part: Option<usize>,
}

#[derive(Debug)]
struct Row {
    key: Vec<u8>,
    op: Op,
    expires_at: Option<UnixMillis>,
    value_type: ValueType,
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
    /// A hash in parts, in their order.
    Parts(Head, Vec<Part>),
}

/// A part of a row's value.
#[derive(Debug)]
struct Part {
    name: Vec<u8>,
    op: Op,
    content: Content,
}

impl Exports {
    /// Whether segments must stay.
    pub(crate) fn need_log(&self) -> bool {
        self.open.iter().any(|it| it.medium == Medium::Disk)
    }

    /// Whether some export has ended since this was asked last: the cleaner may wait for that.
    pub(crate) fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    fn of(&mut self, connection: ConnectionId) -> Option<&mut Export> {
        self.open.iter_mut().find(|it| it.connection == connection)
    }

    /// Begins the connection's export.
    pub(super) fn begin(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        name: &str,
        id: PartitionId,
        after: Option<Op>,
    ) -> Result<(), ErrorReply> {
        assert!(self.of(connection).is_none(), "the one before has ended");
        if self.open.len() >= EXPORTS_MAX {
            return Err(ErrorReply::new(format!(
                "BUSY this brick exports {EXPORTS_MAX} partitions already; begin when one of them has ended"
            )));
        }
        let (local, at) = exportable(core, table_named(core, name)?, id)?;
        let index = core.tables.index_named(name);
        let place = index.and_then(|index| Some((index, core.table_mut(index)?)));
        let Some((table, state)) = place else {
            return Err(refusal(id, Spoilt::Cleared));
        };
        if state.table.intents_of(local) > 0 {
            core.requests.distributed.rest(id, core.now);
            return Err(ErrorReply::new(format!(
                "CLUSTERDOWN transactions are being committed in partition {id}; nothing was done, try again in a moment"
            )));
        }
        let snapshot = state
            .table
            .begin_snapshot(local, at.op, PRESERVED_BYTES_MAX);
        let medium = state.attributes.medium;
        core.requests.distributed.end_rest(id);
        self.open.push(Export {
            connection,
            table,
            partition: id,
            medium,
            snapshot,
            at,
            after,
            asked: core.now,
            unfinished: None,
        });
        Ok(())
    }

    /// Reads the next piece of the connection's export; its bytes, unless it waits for values that are in the log alone.
    pub(super) fn next_piece(
        &mut self,
        core: &mut Core,
        clients: &mut Clients,
        id: ConnectionId,
        name: &str,
        partition: PartitionId,
    ) -> Result<Option<(Token, Vec<u8>)>, ErrorReply> {
        let now = core.now;
        let Some(export) = self.of(id).filter(|it| it.partition == partition) else {
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
        let (rows, has_more) = match export.read(core) {
            Ok(read) => read,
            Err(error) => {
                self.end(core, id);
                return Err(error);
            }
        };
        let protocol = clients[id].session.protocol;
        let token = clients.open_gather(id, Gather::new(Join::Only, protocol, 1));
        let reads = self.fetch(core, id, &rows, 0);
        if let Some(export) = self.of(id) {
            export.unfinished = Some(Piece {
                token,
                rows,
                has_more,
                reads,
            });
        }
        Ok(self.finish_piece(core, clients, id))
    }

    /// Asks for the values that are in the log alone, of rows from `first` on: by token, and which each is.
    fn fetch(
        &mut self,
        core: &mut Core,
        id: ConnectionId,
        rows: &[Row],
        first: usize,
    ) -> BTreeMap<u64, Wanted> {
        let Some(export) = self.open.iter().find(|it| it.connection == id) else {
            return BTreeMap::new();
        };
        let is_divided = core.table(export.table).is_some_and(|it| it.is_divided);
        let partition = (!is_divided).then_some(export.partition);
        let mut reads = BTreeMap::new();
        let mut want = |wanted: Wanted, key: &[u8], op: Op, content: &Content| {
            if let Content::InLog { position, len } = content {
                self.token_next += 1;
                let token = TOKEN | self.token_next;
                reads.insert(token, wanted);
                core.effects.push_back(Effect::Read(ColdRead {
                    token,
                    position: *position,
                    partition,
                    op,
                    key: key.to_vec(),
                    value_len: *len as u32,
                }));
            }
        };
        for (at, row) in rows.iter().enumerate() {
            let row_at = first + at;
            let wanted = |part| Wanted { row: row_at, part };
            want(wanted(None), &row.key, row.op, &row.content);
            if let Content::Parts(_, parts) = &row.content {
                for (number, part) in parts.iter().enumerate() {
                    want(wanted(Some(number)), &part.name, part.op, &part.content);
                }
            }
        }
        reads
    }

    /// A value was read back, or could not be: what is answered now, if anything.
    pub(super) fn on_read(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        token: u64,
        value: Result<&[u8], String>,
    ) -> Option<(Token, Vec<u8>)> {
        assert!(is_of_export(token), "token {token} is of another read");
        let is_of = |it: &&mut Export| {
            let piece = it.unfinished.as_ref();
            piece.is_some_and(|piece| piece.reads.contains_key(&token))
        };
        let export = self.open.iter_mut().find(is_of)?;
        let id = export.connection;
        let mut piece = export.unfinished.take()?;
        let wanted = piece.reads.remove(&token)?;
        let put = match value {
            Ok(value) => piece.put(wanted, value, |key, value| export.content(core, key, value)),
            Err(text) => {
                core.stats().errors.damaged.add(1);
                Err(ErrorReply::new(format!(
                    "DAMAGED a value could not be read back, so the export ended: {text}. Run \"brickyard inspect\" on \
                     the data directory"
                )))
            }
        };
        if let Err(error) = put {
            self.end(core, id);
            return Some((piece.token, error_line(&error)));
        }
        if wanted.part.is_none() {
            // It may have been a head.
            let more = self.fetch(core, id, &piece.rows[wanted.row..=wanted.row], wanted.row);
            piece.reads.extend(more);
        }
        if let Some(export) = self.of(id) {
            export.unfinished = Some(piece);
        }
        self.finish_piece(core, clients, id)
    }

    fn finish_piece(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        id: ConnectionId,
    ) -> Option<(Token, Vec<u8>)> {
        let protocol = clients.get(id)?.session.protocol;
        let export = self.of(id)?;
        let at = export.at;
        let piece = export.unfinished.take_if(|piece| piece.reads.is_empty())?;
        let mut bytes = Vec::new();
        let rendered = piece.render((at, core.unix), &mut Reply::new(&mut bytes, protocol));
        if let Err(error) = rendered {
            self.end(core, id);
            return Some((piece.token, error_line(&error)));
        }
        if !piece.has_more {
            self.end(core, id);
        }
        Some((piece.token, bytes))
    }

    /// The connection's export is over, if it has one.
    pub(crate) fn end(&mut self, core: &mut Core, id: ConnectionId) {
        if let Some(at) = self.open.iter().position(|it| it.connection == id) {
            let export = self.open.swap_remove(at);
            if let Some(state) = core.table_mut(export.table) {
                state.table.end_snapshot(export.snapshot);
            }
            self.has_ended = true;
        }
    }

    /// A table went out of memory, and with it what exports of it were to be of: what is answered.
    pub(crate) fn end_of(&mut self, core: &Core, table: usize) -> Vec<(Token, Vec<u8>)> {
        let ended = self.open.extract_if(.., |it| it.table == table);
        let unfinished = ended.filter_map(|it| it.unfinished);
        let name = core.table(table).map_or("", |it| it.name.as_str());
        let error = error_line(&offline(name));
        unfinished
            .map(|piece| (piece.token, error.clone()))
            .collect()
    }

    /// Ends exports that were given up.
    pub(crate) fn end_idle(&mut self, core: &mut Core) {
        let now = core.now;
        let is_idle = |it: &&Export| it.unfinished.is_none() && now - it.asked > PATIENCE;
        while let Some(id) = self.open.iter().find(is_idle).map(|it| it.connection) {
            self.end(core, id);
        }
    }
}

/// `TABLE EXPORTABLE`: partitions that this brick can export now.
pub(super) fn list_exportable(
    core: &Core,
    name: &str,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    let state = table_named(core, name)?;
    let leaves = state.map.partitions().leaves().iter();
    let led = leaves
        .map(|leaf| leaf.partition)
        .filter(|it| exportable(core, state, *it).is_ok());
    reply.array(led.clone().count());
    for partition in led {
        reply.integer(i64::from(partition.0));
    }
    Ok(())
}

/// The partition's place in its table here, and what an export of it would be of.
fn exportable(
    core: &Core,
    state: &TableState,
    id: PartitionId,
) -> Result<(LocalPartition, At), ErrorReply> {
    let Some(leaf) = state.map.partitions().index_of(id) else {
        return Err(ErrorReply::new(format!(
            "ERR there is no partition {id} in this table; CLUSTER SHARDS and \"brickyard status\" show those there are"
        )));
    };
    if let Some(error) = state.refusal() {
        return Err(error);
    }
    let owner = state.owner(leaf as u32);
    if owner != core.member() {
        return Err(ErrorReply::new(format!(
            "ERR partition {id} is led by brick {owner}; ask that one"
        )));
    }
    let partition = state.partitions.get(leaf).and_then(Option::as_ref);
    let serves = |it: &&crate::tables::Partition| {
        let is_known = it.lead.inherited <= it.committed;
        it.is_primary() && it.status.serves_reads && is_known && it.clear.is_none()
    };
    let Some(partition) = partition.filter(serves).filter(|_| core.replicas.is_leased) else {
        return Err(ErrorReply::new(format!(
            "CLUSTERDOWN partition {id} cannot be read as a whole now: a view is changing, it is being cleared, or \
             its node has lost the control plane; nothing was done, try again"
        )));
    };
    let applied = state.table.op_max(partition.local);
    let at = At {
        view: partition.status.view,
        op: partition.committed.max(applied),
        generation: partition.generation,
    };
    Ok((partition.local, at))
}

impl Export {
    /// Reads a piece of the snapshot; whether there is more.
    fn read(&self, core: &mut Core) -> Result<(Vec<Row>, bool), ErrorReply> {
        let spoilt = |why| refusal(self.partition, why);
        let mut rows: Vec<Row> = Vec::new();
        let mut bytes = 0;
        loop {
            let state = core.table_mut(self.table).ok_or(Spoilt::Cleared);
            let state = state.map_err(spoilt)?;
            let first = rows.len();
            let has_more = state
                .table
                .read_snapshot(self.snapshot, STEP, |key, found| {
                    let content = match found.value {
                        _ if self.after.is_some_and(|after| found.op <= after) => Content::Known,
                        value => Content::of(value, found.position),
                    };
                    rows.push(Row {
                        key: key.to_vec(),
                        op: found.op,
                        expires_at: found.expires_at,
                        value_type: found.value_type,
                        content,
                    });
                })
                .map_err(spoilt)?;
            for row in &mut rows[first..] {
                if let (Content::Here(value), ValueType::Hash) = (&row.content, row.value_type) {
                    row.content = self.content(core, &row.key, value)?;
                }
                bytes += row.key.len() + row.content.len();
            }
            if !has_more || bytes >= PIECE_BYTES {
                return Ok((rows, has_more));
            }
        }
    }

    /// What a key's hash has, whose record has this value: its parts, if it has some.
    fn content(&self, core: &mut Core, key: &[u8], value: &[u8]) -> Result<Content, ErrorReply> {
        let Some(head) = Head::read(value) else {
            return Ok(Content::Here(value.to_vec()));
        };
        let spoilt = |why| refusal(self.partition, why);
        let state = core.table_mut(self.table).ok_or(Spoilt::Cleared);
        let table = &mut state.map_err(spoilt)?.table;
        let mut parts = Vec::new();
        for number in 0..head.parts {
            let part = head.part(key, number);
            let name = part.encode();
            let found = table.snapshot_part(self.snapshot, &name).map_err(spoilt)?;
            let found = found.ok_or_else(|| ErrorReply::no_part(part))?;
            let (op, content) = (found.op, Content::of(found.value, found.position));
            parts.push(Part { name, op, content });
        }
        Ok(Content::Parts(head, parts))
    }
}

impl Content {
    fn of(value: ValueRef<'_>, position: Position) -> Self {
        match value {
            ValueRef::Hot(value) => Self::Here(value.to_vec()),
            ValueRef::Cold { len } => Self::InLog { position, len },
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Known => 0,
            Self::Here(bytes) => bytes.len(),
            Self::InLog { len, .. } => *len,
            Self::Parts(head, _) => head.whole_len(),
        }
    }

    /// The value, if whoever asks does not have it; all of it has been read.
    fn value(&self) -> Result<Option<Cow<'_, [u8]>>, ErrorReply> {
        match self {
            Self::Known => Ok(None),
            Self::Here(value) => Ok(Some(Cow::Borrowed(value))),
            Self::InLog { .. } => panic!("a value is yet to be read"),
            Self::Parts(head, parts) => {
                let mut whole = Whole::new(*head);
                for part in parts {
                    if let Some(value) = part.content.value()? {
                        whole.add(&value)?;
                    }
                }
                Ok(Some(Cow::Owned(whole.finish()?)))
            }
        }
    }
}

impl Piece {
    /// A value was read back; `content_of` says what a row's is.
    fn put(
        &mut self,
        wanted: Wanted,
        value: &[u8],
        content_of: impl FnOnce(&[u8], &[u8]) -> Result<Content, ErrorReply>,
    ) -> Result<(), ErrorReply> {
        let row = &mut self.rows[wanted.row];
        let content = match (&mut row.content, wanted.part) {
            (Content::Parts(_, parts), Some(at)) => &mut parts[at].content,
            (content, _) => content,
        };
        assert!(
            matches!(content, Content::InLog { .. }),
            "{wanted:?} was read already"
        );
        *content = match (wanted.part, row.value_type) {
            (None, ValueType::Hash) => content_of(&row.key, value)?,
            _ => Content::Here(value.to_vec()),
        };
        Ok(())
    }

    /// A row is an array: key, op, expiry, value; of what is no string the payload of DUMP, and a 1 behind it.
    fn render(&self, (at, now): (At, UnixMillis), reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
        reply.array(5);
        reply.integer(i64::from(self.has_more));
        reply.integer(i64::from(at.view.0));
        reply.integer(at.op.0.cast_signed());
        reply.integer(i64::from(at.generation));
        reply.array(self.rows.len());
        for row in &self.rows {
            let is_string = row.value_type.is_string();
            reply.array(if is_string { 4 } else { 5 });
            reply.bulk(&row.key);
            reply.integer(row.op.0.cast_signed());
            let mut expires_at = row.expires_at;
            let mut payload = None;
            let value = row.content.value()?;
            assert!(
                is_string || row.value_type == ValueType::Hash,
                "{:?} has no payload",
                row.value_type
            );
            if let (Some(value), false) = (&value, is_string) {
                expires_at = hash::key_expiry(value, expires_at)?;
                let entry = KeyValue {
                    value,
                    expires_at: row.expires_at,
                    op: row.op,
                    value_type: row.value_type,
                };
                payload = Some(payload_of(&entry, now)?);
            }
            reply.integer(expires_at.map_or(-1, |at| at.0.cast_signed()));
            match payload.as_deref().or(value.as_deref()) {
                Some(bytes) => reply.bulk(bytes),
                None => reply.null(),
            }
            if !is_string {
                reply.integer(1);
            }
        }
        Ok(())
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
