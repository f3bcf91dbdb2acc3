use super::*;
use crate::{ReplicaSummary, Run, Sequence};
use brickyard_types::{Op, PartitionId, TableId, View};
use proptest::prelude::*;

fn position() -> impl Strategy<Value = (View, Op)> {
    (any::<u32>(), 0..u64::MAX / 2).prop_map(|(view, op)| (View(view), Op(op)))
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    prop::collection::btree_map(any::<u32>(), 1..1000_u64, 0..9).prop_map(|steps| {
        let mut first = 0;
        let run = |(view, step): (u32, u64)| {
            first += step;
            Run {
                view: View(view),
                first: Op(first),
            }
        };
        steps.into_iter().map(run).collect()
    })
}

fn owned() -> impl Strategy<Value = Frame<'static>> {
    let ids = (any::<u32>(), any::<u32>());
    let begin = (
        ids,
        any::<u32>(),
        any::<bool>(),
        position(),
        0..9_u64,
        runs(),
    );
    let begin = begin.prop_map(
        |((table, partition), view, is_learner, first, more, runs)| {
            Frame::Begin(Begin {
                table: TableId(table),
                partition: PartitionId(partition),
                view: View(view),
                generation: 3,
                is_learner,
                first,
                last: Op((first.1.0 + more).min(u64::MAX / 2 - 1)),
                runs,
                ..Begin::default()
            })
        },
    );
    let start = (ids, any::<bool>(), position(), position(), runs());
    let start = start.prop_map(|((partition, view), is_full, cut, first, runs)| {
        Frame::CopyStart(CopyStart {
            partition: PartitionId(partition),
            view: View(view),
            is_full,
            cut: cut.1,
            first,
            runs,
            ..CopyStart::default()
        })
    });
    let summary = (ids, position(), position(), any::<bool>(), runs());
    let summary = summary.prop_map(|((partition, view), committed, last, is_complete, runs)| {
        Frame::Summary {
            partition: PartitionId(partition),
            view: View(view),
            summary: ReplicaSummary {
                generation: 1,
                committed: committed.1,
                last,
                is_complete,
                watermark: committed.1,
                runs,
                ..ReplicaSummary::default()
            },
        }
    });
    let refuse = (ids, position(), 1..8_u8).prop_map(|((partition, view), at, reason)| {
        const ALL: [Reason; 7] = [
            Reason::OldView,
            Reason::NewView,
            Reason::NotMember,
            Reason::Gap,
            Reason::Behind,
            Reason::Damage,
            Reason::Log,
        ];
        Frame::Refuse(Refuse {
            partition: PartitionId(partition),
            view: View(view),
            op: at.1,
            reason: ALL[usize::from(reason) - 1],
        })
    });
    let small = (ids, position(), any::<u64>()).prop_map(|((partition, view), at, sequence)| {
        let (partition, view) = (PartitionId(partition), View(view));
        match sequence % 7 {
            0 => Frame::CopyEnd {
                partition,
                view,
                at,
            },
            1 => Frame::CopyDone { partition, view },
            2 => Frame::Join { partition, view },
            3 => Frame::Ping,
            4 => Frame::Pong,
            5 => Frame::Yield { partition, view },
            _ => Frame::Vote(Vote {
                received: Sequence(sequence),
                appended: Sequence(sequence / 2),
                ..Vote::up_to(Sequence(sequence / 3))
            }),
        }
    });
    prop_oneof![begin, start, summary, refuse, small]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(frame in owned()) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        prop_assert_eq!(frame_len(&bytes), Ok(Some(bytes.len())));
        prop_assert_eq!(Frame::decode(&bytes), Ok(frame));
    }

    #[test]
    fn a_part_of_a_frame_is_no_frame(frame in owned(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let part = &bytes[..cut.index(bytes.len())];
        prop_assert_eq!(frame_len(part), Ok(None));
        prop_assert!(Frame::decode(part).is_err());
    }

    #[test]
    fn any_flipped_bit_is_noticed(frame in owned(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(Frame::decode(&bytes).is_err());
    }

    #[test]
    fn no_bytes_panic(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = frame_len(&body);
        let _ = Frame::decode(&body);
        // Also behind a sound checksum.
        let mut bytes = Vec::new();
        let writer = Writer::begin(&mut bytes, kind % 72);
        bytes.extend_from_slice(&body);
        writer.end(&mut bytes);
        if let Ok(Frame::Sequence { commits, .. }) = Frame::decode(&bytes) {
            prop_assert_eq!(commits.iter().count() * 12 + 8, body.len());
        }
    }

    #[test]
    fn commit_positions_and_bytes_pass_through(
        sequence in 0..1000_u64,
        commits in prop::collection::vec((any::<u32>(), any::<u64>()), 0..20),
        bytes in prop::collection::vec(any::<u8>(), 0..99),
    ) {
        let commits: Vec<(PartitionId, Op)> =
            commits.into_iter().map(|(id, op)| (PartitionId(id), Op(op))).collect();
        let mut out = Vec::new();
        put_sequence(&mut out, Sequence(sequence), &commits);
        let Ok(Frame::Sequence { sequence: read, commits: list }) = Frame::decode(&out) else {
            return Err(TestCaseError::fail("a turn"));
        };
        prop_assert_eq!(read, Sequence(sequence));
        prop_assert_eq!(list.iter().collect::<Vec<_>>(), commits);
        let mut again = Vec::new();
        Frame::Sequence { sequence: read, commits: list }.encode(&mut again);
        prop_assert_eq!(again, out);
        for frame in [Frame::Message(&bytes), Frame::Records(&bytes)] {
            let mut out = Vec::new();
            frame.encode(&mut out);
            prop_assert_eq!(Frame::decode(&out), Ok(frame));
        }
    }
}

#[test]
fn lengths_past_the_bound_are_refused_before_anything_is_read() {
    for len in [0, FRAME_BYTES_MAX as u32, u32::MAX] {
        assert_eq!(
            frame_len(&len.to_le_bytes()),
            Err(FrameError::Length { len })
        );
    }
    let longest = (FRAME_BYTES_MAX - HEAD_BYTES + 1) as u32;
    assert_eq!(frame_len(&longest.to_le_bytes()), Ok(None));
}

#[test]
fn ops_end_where_the_one_after_would_not_be_one() {
    let is_read = |op: u64, first: u64| {
        let begin = Frame::Begin(Begin {
            table: TableId(1),
            partition: PartitionId(2),
            view: View(3),
            generation: 3,
            first: (View(1), Op(op)),
            last: Op(op),
            runs: vec![Run {
                view: View(1),
                first: Op(first),
            }],
            ..Begin::default()
        });
        let mut bytes = Vec::new();
        begin.encode(&mut bytes);
        Frame::decode(&bytes).is_ok()
    };
    let end = u64::MAX / 2;
    assert!(is_read(end - 1, end - 1) && is_read(0, 1));
    assert!(!is_read(end, 1) && !is_read(u64::MAX, 1));
    assert!(!is_read(1, end) && !is_read(1, 0));
}
