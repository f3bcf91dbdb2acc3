use crate::fixture::{Cluster, P, Q, TABLE, changing, group, header};
use crate::frame::{Begin, CopyStart, Frame, Reason, Refuse, Vote};
use crate::{Baseline, ReplicaSummary, Run, Sequence, ViewStart};
use brickyard_types::record::{Kind, encode, flag};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::time::Duration;

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

/// Makes frames up, of numbers near to what there is (the op in the second field).
struct Liar(Random, u64);

impl Liar {
    fn is(&mut self) -> bool {
        self.0.below(2) == 0
    }

    fn partition(&mut self) -> PartitionId {
        [P, Q, PartitionId(99)][self.0.below(7) as usize % 3]
    }

    fn view(&mut self) -> View {
        View([1, 1, 1, 1, 2, 2, 0, 3][self.0.index(8)])
    }

    fn op(&mut self) -> Op {
        Op((self.1 + self.0.below(4)).saturating_sub(1))
    }

    fn runs(&mut self) -> Vec<Run> {
        let mut run = Run {
            view: View(1),
            first: Op(1),
        };
        let count = self.0.below(4);
        let mut next = || {
            let now = run;
            run.view.0 += 1 + self.0.below(2) as u32;
            run.first.0 += 1 + self.0.below(self.1 + 2);
            now
        };
        (0..count).map(|_| next()).collect()
    }

    fn records(&mut self) -> Vec<u8> {
        let mut raw = Vec::new();
        for _ in 0..self.0.below(3) {
            let kinds = [
                Kind::Put,
                Kind::Delete,
                Kind::ViewStart,
                Kind::Put,
                Kind::Cut,
            ];
            let kind = kinds[self.0.index(kinds.len())];
            let mut header = header(kind, self.partition(), 0, 0, self.0.below(9));
            (header.view, header.op) = (self.view(), self.op());
            if self.0.below(5) == 0 {
                header.committed = None;
                header.flags = flag::MOVED;
            }
            let start = ViewStart {
                predecessor: (self.view(), self.op()),
                generation: 1,
            };
            let key: &[u8] = if kind == Kind::ViewStart { b"" } else { b"k" };
            encode(&mut raw, &header, key, &[&start.encode()]);
        }
        if self.0.below(20) == 0 {
            raw.push(1);
        }
        raw
    }

    fn frame(&mut self, out: &mut Vec<u8>) {
        let (partition, view) = (self.partition(), self.view());
        let first = (self.view(), self.op());
        let sequence = Sequence(self.0.below(40));
        let records = self.records();
        let frame = match self.0.below(15) {
            0 | 1 => Frame::Begin(Begin {
                table: TableId(TABLE.0 + u32::from(self.0.below(9) == 0)),
                partition,
                view,
                generation: 1,
                is_learner: self.is(),
                first,
                last: Op(first.1.0 + self.0.below(4)),
                runs: self.runs(),
                ..Begin::default()
            }),
            2..=4 => Frame::Records(&records),
            5 => {
                let commits = [(partition, self.op()), (P, Op(self.0.below(20)))];
                crate::frame::put_sequence(out, sequence, &commits);
                return;
            }
            6 => Frame::CopyStart(CopyStart {
                partition,
                view,
                is_full: self.is(),
                cut: self.op(),
                first,
                runs: self.runs(),
                ..CopyStart::default()
            }),
            7 => Frame::Copy {
                partition,
                records: &records,
            },
            14 => Frame::Yield { partition, view },
            8 => Frame::CopyEnd {
                partition,
                view,
                at: first,
            },
            9 => Frame::Vote(Vote {
                received: sequence,
                appended: Sequence(self.0.below(sequence.0 + 1)),
                ..Vote::default()
            }),
            10 => Frame::Refuse(Refuse {
                partition,
                view,
                op: first.1,
                reason: Reason::Gap,
            }),
            11 => Frame::Summary {
                partition,
                view,
                summary: ReplicaSummary {
                    generation: self.0.below(3) as u32,
                    committed: self.op(),
                    last: first,
                    is_complete: self.is(),
                    watermark: self.op(),
                    runs: self.runs(),
                    ..ReplicaSummary::default()
                },
            },
            12 => Frame::CopyDone { partition, view },
            _ => Frame::Join { partition, view },
        };
        frame.encode(out);
    }
}

#[test]
fn no_frame_panics_and_none_cuts_what_is_committed() {
    let (mut refused, mut taken, mut cut) = (0, 0, 0);
    for seed in 1..300 {
        let mut liar = Liar(Random::new(seed), 0);
        let first = group(1, 0, &[1], &[2]);
        let mut cluster = Cluster::started(3, &[P, Q], &first);
        let next = group(2, 0, &[1], &[2]);
        for step in 0..150 {
            let wire = liar.0.index(cluster.wires.len());
            let (from, to) = (cluster.wires[wire].from, cluster.wires[wire].to);
            let link = cluster.wires[wire].link;
            let at = if liar.is() { from } else { to };
            let brick = cluster.brick(at);
            let near = if liar.is() {
                brick.core.committed(P)
            } else {
                brick.core.last(P).1
            };
            liar.1 = near.0;
            let mut bytes = Vec::new();
            liar.frame(&mut bytes);
            let committed = [P, Q].map(|it| brick.core.committed(it));
            let was_cut = brick.host.cut.len();
            match brick.on_frame(link, &bytes) {
                Ok(()) => taken += 1,
                Err(_) => refused += 1,
            }
            for (partition, _, op) in &brick.host.cut[was_cut..] {
                cut += 1;
                let known = committed[usize::from(*partition == Q)];
                assert!(
                    *op > known,
                    "seed {seed}: {partition} op {op} was committed"
                );
            }
            match liar.0.below(12) {
                0 => cluster.adopt(P, &changing(&first, &next, &[])),
                1 if step > 60 => cluster.adopt(P, &next),
                2 => cluster.pass(Duration::from_millis(300)),
                3..=5 => {
                    cluster.brick(0).put(P, "k", "v");
                }
                6 => cluster.brick(at).append(),
                // What is true arrives as well, and may be wrong by now.
                7 | 8 => drop(cluster.deliver_down(wire)),
                9 => drop(cluster.deliver_up(wire)),
                _ => cluster.flush(at),
            }
            cluster.requests.clear();
        }
    }
    assert!(
        refused > 1000 && taken > 1000 && cut > 10,
        "{refused} {taken} {cut}"
    );
    assert_eq!(Baseline::decode(View(1), Op(1), &[0; 7]), None);
}
