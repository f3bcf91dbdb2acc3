//! Records that are put into the batch at hand, and what they will do once they commit.

use super::{Class, KeyRef, Log, Newest, Prepared, RecordIndex, Votes, Writer};
use brickyard_types::record::{self, Header, Kind};
use brickyard_types::{Op, ValueType};

impl Log {
    /// Appends a record that changes no key (a clear, a watermark, one that the cleaner moves);
    /// returns its offset in the batch.
    pub(crate) fn append_bare(&mut self, header: &Header, key: &[u8], value: &[&[u8]]) -> u32 {
        let at = self.building.bytes.len() as u32;
        record::encode(&mut self.building.bytes, header, key, value);
        at
    }

    /// Appends a record that says nothing but that a request was executed.
    pub(crate) fn append_id(&mut self, header: &Header, outcome: Option<&[u8]>) {
        record::encode_with(&mut self.building.bytes, header, outcome, b"", &[]);
    }

    /// Prepares a put or delete of one key as a record of its own. It is
    /// returned: the caller says whose it is ([`Self::add_unsubmitted`], [`Self::add_pending`]).
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        key: KeyRef,
        header: &Header,
        name: &[u8],
        value: &[&[u8]],
        outcome: Option<&[u8]>,
        (votes, writer): (Votes, Writer),
    ) -> RecordIndex {
        let class = votes.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, name, value);
        let end = record_at + len;
        let value_len: usize = value.iter().map(|piece| piece.len()).sum();
        assert!(
            len >= record::HEADER_BYTES + name.len() + value_len && end <= u32::MAX as usize,
            "a record of {len} bytes at {record_at} has a key of {} and a value of {value_len}",
            name.len()
        );
        let prepared = Prepared {
            key,
            kind: header.kind,
            op: header.op,
            value_type: ValueType::of_flags(header.flags),
            expires_at: header.expires_at,
            record_at: record_at as u32,
            key_at: (end - value_len - name.len()) as u32,
            key_len: name.len() as u16,
            value_at: (end - value_len) as u32,
            value_len: value_len as u32,
            is_void: false,
        };
        if header.kind != Kind::Delete {
            self.building.only_frees = false;
        }
        self.push(prepared, class, writer);
        self.hold(votes, record_at, len, 1)
    }

    /// Prepares several puts and deletes of one partition as one record; as [`Self::prepare`].
    ///
    /// `entries` are in the order of `value`'s entries, with offsets relative to `value`.
    pub(crate) fn prepare_batch(
        &mut self,
        header: &Header,
        value: &[u8],
        outcome: Option<&[u8]>,
        entries: impl Iterator<Item = Prepared>,
        votes: Votes,
        writer: Writer,
    ) -> RecordIndex {
        let class = votes.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, b"", &[value]);
        assert!(
            record_at + len <= u32::MAX as usize,
            "a batch of {len} bytes at {record_at}"
        );
        let base = (record_at + len - value.len()) as u32;
        self.building.only_frees = false;
        let mut count = 0;
        for mut prepared in entries {
            prepared.record_at = record_at as u32;
            prepared.key_at += base;
            prepared.value_at += base;
            assert_eq!(
                prepared.op, header.op,
                "what happens together has one number"
            );
            self.push(prepared, class, writer);
            count += 1;
        }
        self.hold(votes, record_at, len, count)
    }

    /// Prepares the clear of a partition; as [`Self::prepare`].
    pub(crate) fn prepare_clear(
        &mut self,
        key: KeyRef,
        header: &Header,
        votes: Votes,
    ) -> RecordIndex {
        let class = votes.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode(buffer, header, b"", &[]);
        self.push_keyless(key, header.kind, header.op, record_at, class);
        self.hold(votes, record_at, len, 1)
    }

    /// Prepares a record that says nothing but that a request was executed; as [`Self::prepare`]. `key` names
    /// the partition.
    pub(crate) fn prepare_id(
        &mut self,
        key: KeyRef,
        header: &Header,
        outcome: Option<&[u8]>,
        votes: Votes,
    ) -> RecordIndex {
        let class = votes.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, b"", &[]);
        self.push_keyless(key, header.kind, header.op, record_at, class);
        self.hold(votes, record_at, len, 1)
    }

    /// A clear, or a request that changed nothing, is not in `newest`: it is about no key, and commands see it
    /// through their partition.
    pub(super) fn push_keyless(
        &mut self,
        key: KeyRef,
        kind: Kind,
        op: Op,
        record_at: usize,
        class: Class,
    ) {
        let at = record_at as u32;
        self.building.lists.of_mut(class).push(Prepared {
            key,
            kind,
            op,
            value_type: ValueType::String,
            expires_at: None,
            record_at: at,
            key_at: at,
            key_len: 0,
            value_at: at,
            value_len: 0,
            is_void: false,
        });
    }

    #[inline]
    pub(super) fn push(&mut self, prepared: Prepared, class: Class, writer: Writer) {
        let list = self.building.lists.of_mut(class);
        let index = list.len() as u32;
        list.push(prepared);
        let table = prepared.key.table as usize;
        if self.prepared.bytes.len() <= table {
            self.prepared.bytes.resize(table + 1, 0);
        }
        self.prepared.bytes[table] += prepared.memory();
        self.prepared.intents += usize::from(prepared.is_intent());
        self.prepared.hashes += usize::from(prepared.is_hash());
        let batch = self.building.id;
        let newest = self.newest.entry(prepared.key).or_insert(Newest {
            batch,
            origin: batch,
            index,
            class,
            writer,
            count: 0,
        });
        newest.batch = batch;
        newest.origin = batch;
        newest.index = index;
        newest.class = class;
        newest.count += 1;
        if newest.writer != writer {
            newest.writer = Writer::MANY;
        }
    }
}
