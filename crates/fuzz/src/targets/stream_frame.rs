//! Any bytes as a frame of a stream between bricks: no panic, and what is read is written as it was. So are the
//! control records within.
//!
//! The checksum is put right first, so that what is behind it is reached.

use brickyard_replication::frame::{
    Begin, CopyStart, Frame, HEAD_BYTES, Reason, Refuse, Vote, frame_len,
};
use brickyard_replication::{Baseline, ReplicaSummary, Run, Sequence, ViewStart};
use brickyard_types::{Op, PartitionId, TableId, View};

/// See the module.
pub(super) fn run(input: &[u8]) {
    check(input);
    let mut sound = input.to_vec();
    if sound.len() >= HEAD_BYTES {
        let len = (sound.len() - HEAD_BYTES + 1) as u32;
        let crc = crc32fast::hash(&sound[HEAD_BYTES - 1..]);
        sound[..4].copy_from_slice(&len.to_le_bytes());
        sound[4..8].copy_from_slice(&crc.to_le_bytes());
        check(&sound);
    }
    if let Some(baseline) = Baseline::decode(View(1), Op(9), input) {
        let mut out = Vec::new();
        baseline.encode(&mut out);
        assert_eq!(out, input, "a base is written as it was read");
    }
    if let Some(start) = ViewStart::decode(input) {
        assert_eq!(start.encode()[..], *input, "a view's start");
    }
}

fn check(bytes: &[u8]) {
    let Ok(Some(len)) = frame_len(bytes) else {
        return;
    };
    assert!(len <= bytes.len(), "a frame that is not all there");
    if let Ok(frame) = Frame::decode(&bytes[..len]) {
        let mut out = Vec::new();
        frame.encode(&mut out);
        assert_eq!(out, bytes[..len], "{frame:?} is written as it was read");
    }
}

/// A frame of each kind.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let (partition, view) = (PartitionId(3), View(2));
    let runs = || {
        let run = |view, first| Run {
            view: View(view),
            first: Op(first),
        };
        vec![run(1, 1), run(2, 8)]
    };
    let records = super::records();
    let frames = [
        Frame::Message(b"hello"),
        Frame::Begin(Begin {
            table: TableId(1),
            partition,
            view,
            generation: 1,
            first: (View(1), Op(7)),
            last: Op(9),
            runs: runs(),
            ..Begin::default()
        }),
        Frame::Records(&records[0]),
        Frame::CopyStart(CopyStart {
            partition,
            view,
            cut: Op(5),
            first: (View(1), Op(7)),
            runs: runs(),
            ..CopyStart::default()
        }),
        Frame::Copy {
            partition,
            records: &records[1],
        },
        Frame::CopyEnd {
            partition,
            view,
            at: (View(1), Op(7)),
        },
        Frame::Ping,
        Frame::Yield { partition, view },
        Frame::Vote(Vote {
            received: Sequence(9),
            appended: Sequence(8),
            ..Vote::up_to(Sequence(7))
        }),
        Frame::Refuse(Refuse {
            partition,
            view,
            op: Op(8),
            reason: Reason::Gap,
        }),
        Frame::Summary {
            partition,
            view,
            summary: ReplicaSummary {
                generation: 1,
                committed: Op(6),
                last: (View(1), Op(7)),
                is_complete: true,
                watermark: Op(2),
                runs: runs(),
                ..ReplicaSummary::default()
            },
        },
        Frame::CopyDone { partition, view },
        Frame::Join { partition, view },
        Frame::Pong,
    ];
    let encoded = frames.iter().map(|frame| {
        let mut out = Vec::new();
        frame.encode(&mut out);
        out
    });
    encoded.collect()
}
