//! The targets: one decoder each.

mod agreed_entry;
mod brick_message;
mod catalog;
mod command;
mod config_parse;
mod consensus_message;
mod control_log;
mod hint_read;
mod inline;
mod load_file;
mod node_message;
mod record_decode;
mod reply_decode;
mod resp_decode;
mod script;
mod segment_scan;
mod stream_frame;

/// A decoder under any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics if the decoder breaks its word.
    pub run: fn(&[u8]),
    /// Inputs to begin with: real encodings, brought into the form that `run` takes.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($name:ident,)*) => {
        const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            run: $name::run,
            seeds: $name::seeds,
        },)*];
    };
}

targets! {
    agreed_entry,
    brick_message,
    catalog,
    command,
    config_parse,
    consensus_message,
    control_log,
    hint_read,
    inline,
    load_file,
    node_message,
    record_decode,
    reply_decode,
    resp_decode,
    script,
    segment_scan,
    stream_frame,
}

/// All of them.
#[must_use]
pub fn all() -> &'static [Target] {
    TARGETS
}

/// The one with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Records of several kinds, as a log and a stream have them.
fn records() -> Vec<Vec<u8>> {
    use brickyard_types::record::{
        Header, Kind, RequestId, encode, encode_entry, encode_with, flag,
    };
    use brickyard_types::{Op, PartitionId, SegmentId, TableId, UnixMillis, View};
    let header = |kind: Kind, op: u64| Header {
        kind,
        flags: 0,
        table: TableId(1),
        partition: PartitionId(1),
        view: View(1),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(Op(op.saturating_sub(1))),
    };
    let record = |header: Header, key: &[u8], value: &[u8]| {
        let mut bytes = Vec::new();
        encode(&mut bytes, &header, key, &[value]);
        bytes
    };
    let mut batch = Vec::new();
    for (kind, key) in [(Kind::Put, &b"a"[..]), (Kind::Delete, &b"bb"[..])] {
        encode_entry(
            &mut batch,
            &brickyard_types::record::BatchEntry {
                kind,
                flags: flag::RAW,
                key,
                value: b"",
                expires_at: Some(UnixMillis(5)),
            },
        );
    }
    let start = brickyard_replication::ViewStart {
        predecessor: (View(1), Op(3)),
        generation: 1,
    };
    let mut baseline = Vec::new();
    brickyard_replication::Baseline {
        generation: 1,
        view: View(1),
        op: Op(4),
        runs: vec![brickyard_replication::Run {
            view: View(1),
            first: Op(1),
        }],
    }
    .encode(&mut baseline);
    let mut answered = Vec::new();
    let request = Some(RequestId {
        client: 11,
        sequence: 12,
    });
    let asked = Header {
        request,
        ..header(Kind::Put, 5)
    };
    encode_with(&mut answered, &asked, Some(b":1\r\n"), b"n", &[b"1"]);
    vec![
        answered,
        record(header(Kind::Put, 1), b"key", b"value"),
        record(
            Header {
                flags: flag::MOVED,
                origin: Some(SegmentId(2)),
                request,
                committed: None,
                ..header(Kind::Delete, 2)
            },
            b"gone",
            b"",
        ),
        record(
            Header {
                expires_at: Some(UnixMillis(77)),
                ..header(Kind::Batch, 3)
            },
            b"",
            &batch,
        ),
        record(header(Kind::ViewStart, 4), b"", &start.encode()),
        record(header(Kind::Baseline, 4), b"", &baseline),
    ]
}
