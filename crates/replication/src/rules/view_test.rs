use crate::fixture::{ACCEPTS_AFTER, Brick, Cluster, P, TABLE, changing, group, header, replica};
use crate::frame::{Begin, Frame};
use crate::view::names;
use crate::{Role, Run, ViewStart, Want};
use brickyard_routing::Group;
use brickyard_types::record::{Kind, encode};
use brickyard_types::{Op, View};

/// View 2 with brick 1 as primary, and brick 0 as `backup`; brick 0 has op 2 to itself.
fn taken_over(backups: &[usize]) -> (Cluster, Group) {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "k", "cut").unwrap();
    cluster.run();
    cluster.disconnect(0, 1);
    cluster.requests.clear();
    let next = group(2, 1, backups, &[]);
    let change = changing(&first, &next, if backups.is_empty() { &[0] } else { &[] });
    cluster.adopt(P, &change);
    (cluster, next)
}

fn accepted(brick: &mut Brick, version: u64) -> u64 {
    brick.with(|core| core.adopted(version));
    brick.core.accepted()
}

/// Rule `uncommitted ops are voted for again`.
#[test]
fn inherited_ops_commit_when_all_have_voted_again() {
    let first = group(1, 0, &[1, 2], &[]);
    let mut cluster = Cluster::started(3, &[P], &first);
    // Brick 0 commits op 2 and dies before anybody hears of it.
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.is_log_held = vec![true; 3];
    cluster.run();
    cluster.brick(1).append();
    cluster.brick(2).append();
    cluster.crash(0);
    cluster.run();
    let next = group(2, 1, &[2], &[]);
    cluster.brick(1).adopt(P, &next);
    cluster.brick(1).append();
    cluster.brick(1).sync();
    cluster.flush(1);
    assert_eq!(
        cluster.brick(1).committed(P),
        1,
        "inheriting is not committing"
    );
    assert!(cluster.brick(1).core.is_inherited(P, Op(2)));
    assert!(!cluster.brick(1).core.is_inherited(P, Op(3)));
    assert_eq!(cluster.brick(1).core.status(P).role, Role::Primary);
    cluster.is_log_held = vec![false; 3];
    cluster.run();
    assert_eq!(
        cluster.brick(1).committed(P),
        1,
        "brick 2 does not know of view 2"
    );
    cluster.brick(2).adopt(P, &next);
    cluster.is_log_held[2] = true;
    cluster.run();
    cluster.brick(1).check_again();
    assert_eq!(
        cluster.brick(1).committed(P),
        1,
        "brick 2 has not voted in view 2"
    );
    cluster.is_log_held[2] = false;
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 3);
    assert_eq!(cluster.brick(2).get(P, "k").as_deref(), Some("v"));
    assert!(!cluster.brick(1).core.is_inherited(P, Op(2)));
}

/// Rule `a proposed view only stops`.
#[test]
fn a_proposed_view_stops_those_it_removes_and_makes_nobody_a_member() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(3, &[P], &first);
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.flush(0);
    let change = changing(&first, &group(2, 1, &[2], &[]), &[0]);
    cluster.brick(0).adopt(P, &change);
    // Brick 1 does not know yet, and votes.
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "stopped");
    cluster.adopt(P, &change);
    cluster.run();
    assert_eq!(cluster.brick(0).core.status(P).role, Role::Stopped);
    assert!(!cluster.brick(0).core.status(P).serves_reads);
    assert_eq!(cluster.brick(0).core.next(P), None);
    assert_eq!(
        cluster.brick(1).core.status(P).role,
        Role::Backup,
        "not yet"
    );
    assert_eq!(cluster.brick(2).core.status(P).role, Role::None, "not yet");
}

/// Rule `a primary accepts its view`.
#[test]
fn accepting_is_said_once_the_log_is_synced() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    let change = changing(&first, &group(2, 1, &[], &[]), &[0]);
    cluster.adopt(P, &change);
    assert_eq!(accepted(cluster.brick(0), 5), 5, "nothing to accept");
    assert_eq!(cluster.brick(0).core.stopped(), 5);
    assert_eq!(accepted(cluster.brick(1), 5), 0);
    assert_eq!(cluster.brick(1).core.stopped(), 5);
    // A sync that was under way before the request proves nothing.
    cluster.brick(1).sync();
    assert_eq!(cluster.brick(1).core.accepted(), 0);
    assert_eq!(cluster.brick(1).poll_request(), Some(Want::SyncLog));
    cluster.brick(1).append();
    assert_eq!(cluster.brick(1).core.accepted(), 0);
    cluster.brick(1).sync();
    assert_eq!(cluster.brick(1).core.accepted(), 5);
}

/// Rule `a primary accepts its view`.
#[test]
fn having_accepted_a_primary_commits_nothing_in_the_older_view() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.flush(0);
    let next = group(2, 0, &[], &[]);
    let change = changing(&first, &next, &[1]);
    cluster.brick(0).adopt(P, &change);
    // Brick 1 does not know yet, and votes.
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    assert_eq!(cluster.brick(0).core.next(P), None);
    cluster.brick(0).adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 3, "in view 2, alone");
}

/// Rule `waiting reads are admitted anew`.
#[test]
fn a_backup_serves_reads_once_it_has_what_the_view_began_with() {
    let (mut cluster, next) = taken_over(&[0]);
    cluster.adopt(P, &next);
    assert_eq!(cluster.brick(0).core.status(P).role, Role::Backup);
    assert!(
        !cluster.brick(0).core.status(P).serves_reads,
        "nothing was heard"
    );
    let wire = cluster.connect(1, 0);
    cluster.flush(1);
    // The beginning arrives, and the records that it speaks of do not.
    cluster.deliver_down(wire).unwrap();
    assert!(
        !cluster.brick(0).core.status(P).serves_reads,
        "something is missing"
    );
    cluster.deliver_down(wire).unwrap();
    assert!(cluster.brick(0).core.status(P).serves_reads);
    let told = cluster.brick(0).host.changed.last().unwrap().1;
    assert!(told.serves_reads && told.view == View(2));
}

/// Rule `an old primary knows no outcome`.
#[test]
fn what_a_new_primary_does_not_have_is_cut_and_reported() {
    let (mut cluster, next) = taken_over(&[0]);
    cluster.adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).host.cut, [(P, View(1), Op(2))]);
    assert_eq!(cluster.brick(0).last(P), (2, 2));
    assert_eq!(cluster.brick(0).get(P, "k"), None);
    assert_eq!(cluster.brick(1).committed(P), 2);
}

/// Rule `a cut is a record`.
#[test]
fn a_cut_is_in_the_log_before_the_first_vote_of_the_view() {
    let (mut cluster, next) = taken_over(&[0]);
    cluster.adopt(P, &next);
    cluster.is_log_held[0] = true;
    cluster.run();
    // Up to the view's start all is in memory; the cut and it are not in the log.
    assert_eq!(cluster.brick(1).committed(P), 1);
    let kinds = cluster.brick(0).host.kinds(P);
    let suffix = [(Kind::Put, 2), (Kind::Cut, 1), (Kind::ViewStart, 2)];
    assert_eq!(kinds[1..], suffix);
    cluster.is_log_held[0] = false;
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
}

/// Rule `a cut is a record`.
#[test]
fn a_cut_alone_holds_the_vote_back() {
    let (mut cluster, next) = taken_over(&[0]);
    // Brick 0 has everything of view 2 but for the cut: the beginning is all that arrives.
    cluster.adopt(P, &next);
    cluster.is_log_held[0] = true;
    let wire = cluster.connect(1, 0);
    cluster.requests.clear();
    cluster.flush(1);
    cluster.deliver_down(wire).unwrap();
    let sequence = Frame::Sequence {
        sequence: cluster.brick(1).core.sequence,
        commits: match Frame::decode(cluster.wires[wire].down.back().unwrap()) {
            Ok(Frame::Sequence { commits, .. }) => commits,
            other => panic!("{other:?}"),
        },
    };
    let mut bytes = Vec::new();
    sequence.encode(&mut bytes);
    cluster.wires[wire].down.clear();
    cluster.wires[wire].down.push_back(bytes);
    cluster.deliver_down(wire).unwrap();
    cluster.flush(0);
    let appended = |cluster: &Cluster| {
        let (_, up) = cluster.under_way(wire);
        let vote = up.iter().rev().find_map(|frame| match frame {
            Frame::Vote(vote) => Some(vote.appended),
            _ => None,
        });
        vote.unwrap_or_default()
    };
    assert_eq!(appended(&cluster).0, 0);
    cluster.brick(0).append();
    cluster.flush(0);
    assert_ne!(appended(&cluster).0, 0);
}

/// Rule `a cut is a record`.
#[test]
fn nothing_committed_is_cut_whatever_a_primary_says() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
    let begin = Begin {
        table: TABLE,
        partition: P,
        view: View(1),
        generation: 1,
        first: (View(0), Op(0)),
        last: Op(1),
        runs: vec![Run {
            view: View(1),
            first: Op(1),
        }],
        ..Begin::default()
    };
    assert_eq!(cluster.forge(0, 1, &Frame::Begin(begin)), Ok(()));
    assert_eq!(cluster.brick(1).host.cut, []);
    assert_eq!(cluster.brick(1).committed(P), 2);
    cluster.flush(1);
    let reports = cluster.asked(1);
    assert!(matches!(reports[..], [Want::Report { .. }]), "{reports:?}");
    assert!(!cluster.brick(1).core.status(P).serves_reads);
    let told = cluster.brick(1).host.changed.last().unwrap().1;
    assert!(!told.serves_reads, "the owner reads by what it is told");
}

/// Rule `a cut is a record`.
#[test]
fn an_agreed_suffix_is_kept_to_its_last_record() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.is_log_held[1] = true;
    for value in ["a", "b"] {
        cluster.brick(0).put(P, "k", value).unwrap();
    }
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 1);
    assert_eq!(cluster.brick(1).last(P), (1, 3));
    let begin = Begin {
        table: TABLE,
        partition: P,
        view: View(1),
        generation: 1,
        first: (View(1), Op(1)),
        last: Op(3),
        runs: vec![Run {
            view: View(1),
            first: Op(1),
        }],
        ..Begin::default()
    };
    assert_eq!(cluster.forge(0, 1, &Frame::Begin(begin)), Ok(()));
    assert_eq!(cluster.brick(1).host.cut, []);
    assert_eq!(cluster.brick(1).last(P), (1, 3));
}

/// Rule `a cut is a record`.
#[test]
fn a_view_starts_with_a_record_that_names_its_predecessor() {
    let (mut cluster, next) = taken_over(&[]);
    cluster.adopt(P, &next);
    cluster.run();
    let (_, raw) = cluster.brick(1).host.log.last().unwrap().clone();
    let record = brickyard_types::record::decode(&raw).unwrap();
    assert_eq!(record.header.kind, Kind::ViewStart);
    let start = ViewStart::decode(record.value).unwrap();
    assert_eq!(start.predecessor, (View(1), Op(1)));
}

/// Rule `a cut is a record`.
#[test]
fn a_view_that_follows_another_record_is_refused() {
    let (mut cluster, next) = taken_over(&[0]);
    cluster.brick(0).adopt(P, &next);
    cluster.connect(1, 0);
    let begin = Begin {
        table: TABLE,
        partition: P,
        view: View(2),
        generation: 1,
        first: (View(1), Op(1)),
        last: Op(1),
        ..Begin::default()
    };
    assert_eq!(cluster.forge(1, 0, &Frame::Begin(begin)), Ok(()));
    for (predecessor, last) in [((View(3), Op(1)), 1), ((View(1), Op(1)), 1)] {
        let start = ViewStart {
            predecessor,
            generation: 1,
        };
        let mut raw = Vec::new();
        let header = header(Kind::ViewStart, P, 2, 2, 1);
        encode(&mut raw, &header, &[], &[&start.encode()]);
        assert_eq!(cluster.forge(1, 0, &Frame::Records(&raw)), Ok(()));
        // Once refused, nothing more is taken until it begins again.
        assert_eq!(cluster.brick(0).last(P).1, last);
    }
}

/// Rule `a hand-over fences nobody`.
#[test]
fn a_member_that_becomes_a_learner_stops_like_one_that_goes() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    let change = changing(&first, &group(2, 0, &[], &[1]), &[1]);
    cluster.brick(1).adopt(P, &change);
    assert!(!cluster.brick(1).core.status(P).serves_reads);
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
}

/// Rule `a hand-over fences nobody`.
#[test]
fn a_hand_over_needs_no_fence() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "before", "v").unwrap();
    cluster.run();
    let next = group(2, 1, &[0], &[]);
    let change = changing(&first, &next, &[]);
    // The new primary knows, the old one does not: what it prepares now needs a vote that does not come.
    cluster.brick(1).adopt(P, &change);
    cluster.pass(ACCEPTS_AFTER);
    cluster.brick(0).put(P, "after", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
    assert!(cluster.brick(0).core.status(P).serves_reads);
    assert!(cluster.brick(1).core.status(P).serves_reads);
    cluster.brick(0).adopt(P, &change);
    assert!(
        !cluster.brick(0).core.status(P).accepts_writes,
        "it would be cut"
    );
    cluster.adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).host.cut, [(P, View(1), Op(3))]);
    assert_eq!(cluster.brick(0).committed(P), 3);
    assert_eq!(cluster.brick(0).core.status(P).role, Role::Backup);
}

/// Rule `acknowledged views are remembered`.
#[test]
fn what_was_accepted_is_kept_past_the_partition() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    let change = changing(&first, &group(5, 1, &[0], &[]), &[]);
    cluster.brick(1).adopt(P, &change);
    cluster.pass(ACCEPTS_AFTER);
    cluster.brick(1).with(|core| core.forget(P));
    assert_eq!(cluster.brick(1).core.summary_of(P), None, "it is gone");
    // Back again, in a view below the one that it accepted.
    cluster.adopt(P, &group(3, 0, &[1], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "no vote in view 3");
    cluster.adopt(P, &group(4, 0, &[], &[1]));
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (0, 0), "nor anything of view 4");
    cluster.adopt(P, &group(5, 0, &[], &[1]));
    cluster.run();
    assert_eq!(cluster.brick(1).last(P).0, 5);
}

/// Rule `members name an incarnation`.
#[test]
fn only_the_primary_that_the_map_names_begins_a_view() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1, 2], &[]));
    cluster.connect(2, 1);
    cluster.run();
    let begin = |generation| {
        Frame::Begin(Begin {
            table: TABLE,
            partition: P,
            view: View(1),
            generation,
            first: (View(1), Op(1)),
            last: Op(1),
            runs: vec![Run {
                view: View(1),
                first: Op(1),
            }],
            ..Begin::default()
        })
    };
    // Another member of the same history, and the primary with another history.
    for (from, generation) in [(2, 1), (0, 2)] {
        assert_eq!(cluster.forge(from, 1, &begin(generation)), Ok(()));
        cluster.flush(1);
        let at = cluster
            .wires
            .iter()
            .rposition(|it| (it.from, it.to) == (from, 1));
        let (_, up) = cluster.under_way(at.unwrap());
        let is_refusal = |it: &Frame<'_>| matches!(it, Frame::Refuse(it) if it.partition == P);
        assert!(up.iter().any(is_refusal), "from {from}: {up:?}");
    }
}

/// Who has no part in a view, nor in the next one, is not told of the partition.
#[test]
fn a_group_names_whoever_has_a_part_in_it_or_in_its_change() {
    let first = group(1, 0, &[1], &[2]);
    let next = changing(&first, &group(2, 3, &[1], &[]), &[4]);
    let named = |group: &Group| [0, 1, 2, 3, 4, 5].map(|it| names(group, replica(it)));
    assert_eq!(named(&first), [true, true, true, false, false, false]);
    assert_eq!(named(&next), [true, true, true, true, true, false]);
}

/// Rule `a primary accepts its view`.
#[test]
fn accepting_waits_for_unfinished_copies_too() {
    let first = group(1, 0, &[], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    for key in ["a", "b"] {
        cluster.brick(0).put(P, key, "v").unwrap();
    }
    cluster.run();
    cluster.does_copy = false;
    let now = group(1, 0, &[], &[1]);
    cluster.adopt(P, &now);
    cluster.run();
    let asked = cluster.asked(0);
    let Want::CatchUp { link, after, .. } = asked[0] else {
        panic!("{asked:?}");
    };
    cluster.is_log_held[1] = true;
    cluster.copy(0, P, link, after, 1);
    cluster.run();
    // Nobody else is left: it is made the primary with what it has.
    let brick = cluster.brick(1);
    brick.adopt(P, &changing(&now, &group(2, 1, &[], &[]), &[0]));
    assert_eq!(accepted(brick, 5), 0);
    assert_eq!(brick.poll_request(), Some(Want::SyncLog));
    let before = crate::LogMark(brick.host.batch.0 - 1);
    brick.with(|core| core.on_synced(before));
    assert_eq!(brick.core.accepted(), 0, "the copy is not in the log");
    brick.sync();
    assert_eq!(brick.core.accepted(), 5);
}

/// What was prepared and not sent when a view ends has no part in how the next one is counted.
#[test]
fn what_was_not_sent_yet_commits_in_the_next_view_or_is_cut() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "k", "v").unwrap();
    let next = group(2, 0, &[], &[]);
    cluster.brick(0).adopt(P, &changing(&first, &next, &[1]));
    cluster.brick(0).adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 3);
    assert_eq!(cluster.brick(0).get(P, "k").as_deref(), Some("v"));
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "k", "v").unwrap();
    let next = group(2, 1, &[0], &[]);
    cluster.adopt(P, &changing(&first, &next, &[]));
    cluster.adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).host.cut, [(P, View(1), Op(2))]);
    cluster.brick(1).put(P, "k", "w").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 3);
}
