use super::*;
use crate::accepted::Port;
use crate::harness::Node;
use crate::version::Version;
use brickyard_types::{Durability, Op, TableAttributes, UnixMillis};

const NOW: Instant = Instant(1_000_000_000);

fn node(bricks: u32, durability: Durability) -> Node {
    let attributes = TableAttributes {
        durability,
        ..TableAttributes::default()
    };
    Node::new(bricks, attributes)
}

/// What EXEC says after `between` happened to a key that did not exist when it was watched.
fn exec_after(between: &[&str]) -> Vec<String> {
    let mut replies = Vec::new();
    for durability in [Durability::Memory, Durability::Log] {
        for bricks in [1, 3] {
            let mut node = node(bricks, durability);
            let (ours, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
            node.call(other, "MSET {t}other x unrelated x");
            assert_eq!(node.call(ours, "WATCH {t}k"), "+OK");
            for command in between {
                match *command {
                    "wait" => node.advance(Duration::from_secs(2)),
                    command => drop(node.call(other, command)),
                }
            }
            let reply = node.call(ours, "MULTI\nSET {t}k mine\nEXEC");
            let exec = reply.strip_prefix("+OK +QUEUED ").unwrap_or(&reply);
            replies.push(exec.to_owned());
        }
    }
    replies.dedup();
    replies
}

#[test]
fn key_that_came_and_went_has_changed() {
    let ways: [&[&str]; 9] = [
        &["SET {t}k v", "DEL {t}k"],
        &["SET {t}k v", "GETDEL {t}k"],
        &["MSET {t}k v {t}l w", "DEL {t}k {t}l"],
        &["MULTI\nSET {t}k v\nDEL {t}k\nEXEC"],
        &["SET {t}k v", "RENAME {t}k {t}l"],
        &["SET {t}k v EX 1", "wait"],
        &["SET {t}k v EX 1", "wait", "GET {t}k"],
        &["SET {t}k v", "EXPIREAT {t}k 1"],
        &["SET {t}k v", "FLUSHALL"],
    ];
    for way in ways {
        assert_eq!(exec_after(way), ["*-1"], "{way:?}");
    }
}

#[test]
fn key_that_was_never_there_has_not_changed() {
    let ways: [&[&str]; 5] = [
        &["DEL {t}k"],
        &["DEL {t}other unrelated"],
        &["RENAME {t}other {t}l", "DEL {t}l"],
        &["FLUSHALL"],
        &["GET {t}k", "SET {t}other y EX 1", "wait"],
    ];
    for way in ways {
        assert_eq!(exec_after(way), ["*1 +OK"], "{way:?}");
    }
}

#[test]
fn key_that_expired_before_it_was_watched_has_not_changed() {
    let mut node = node(1, Durability::Log);
    let client = node.connect(0, Port::Node);
    node.call(client, "SET k v PX 50");
    // No tick yet: the record is still there.
    node.unix = UnixMillis(node.unix.0 + 60);
    assert_eq!(
        node.call(client, "WATCH k\nMULTI\nSET k mine\nEXEC"),
        "+OK +OK +QUEUED *1 +OK"
    );
}

#[test]
fn commands_without_keys_run_only_if_the_transaction_does() {
    for bricks in [1, 3] {
        let mut node = node(bricks, Durability::Log);
        let (ours, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
        let exec = "MULTI\nCLIENT SETNAME me\nSET k mine\nPING\nGET k\nCLIENT GETNAME\nEXEC";
        let queued = "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED";
        node.call(ours, "WATCH k");
        node.call(other, "SET k v");
        assert_eq!(node.call(ours, exec), format!("{queued} *-1"));
        assert_eq!(node.call(ours, "CLIENT GETNAME\nGET k"), "$-1 $1 v");
        let next = format!("{exec}\nCLIENT GETNAME");
        assert_eq!(
            node.call(ours, &next),
            format!("{queued} *5 +OK +OK +PONG $4 mine $2 me $2 me")
        );
    }
}

#[test]
fn transaction_of_watched_keys_and_nothing_else_compares_them() {
    let mut node = node(3, Durability::Log);
    let (ours, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.call(ours, "WATCH k");
    assert_eq!(node.call(ours, "MULTI\nPING\nEXEC"), "+OK +QUEUED *1 +PONG");
    node.call(ours, "WATCH k");
    node.call(other, "SET k v\nDEL k");
    assert_eq!(node.call(ours, "MULTI\nPING\nEXEC"), "+OK +QUEUED *-1");
}

#[test]
fn what_is_said_of_a_slot_cannot_be_queued() {
    let mut node = node(1, Durability::Log);
    let client = node.connect(0, Port::Brick);
    let reply = node.call(client, "MULTI\nCLUSTER COUNTKEYSINSLOT 1\nEXEC");
    assert!(reply.starts_with("+OK -ERR"), "{reply}");
    assert!(reply.ends_with("previous errors."), "{reply}");
    assert_eq!(node.call(client, "PING"), "+PONG");
}

fn key(hash: u64) -> KeyRef {
    KeyRef {
        table: 0,
        partition: LocalPartition(0),
        hash: KeyHash(hash),
    }
}

#[test]
fn key_that_was_forgotten_has_changed_once_any_was_removed() {
    let mut negative_versions = NegativeVersions::new(7);
    let first = negative_versions.watch(key(0), b"first", View(1), NOW);
    negative_versions.forget_old(NOW + KEPT * 2);
    assert!(negative_versions.keys.is_empty() && negative_versions.bytes == 0);
    assert!(!negative_versions.has_changed(&key(0), first, View(1)));
    negative_versions.note_removal(&key(99));
    assert!(negative_versions.has_changed(&key(0), first, View(1)));
}

#[test]
fn many_watched_keys_take_bounded_memory() {
    let mut negative_versions = NegativeVersions::new(7);
    let name = [b'n'; 1000];
    for hash in 0..10_000 {
        negative_versions.watch(key(hash), &name, View(1), NOW);
        // Watching the same one again and again adds nothing.
        negative_versions.watch(key(hash), &name, View(1), NOW);
    }
    assert!(negative_versions.bytes <= NAME_BYTES_MAX);
    assert!(negative_versions.keys.len() < 5_000);
    assert!(negative_versions.ages.len() < 5_000);
    negative_versions.forget_old(NOW + KEPT * 2);
    assert!(negative_versions.ages.is_empty() && negative_versions.bytes == 0);
}

#[test]
fn what_another_brick_or_view_or_life_said_has_changed() {
    let mut negative_versions = NegativeVersions::new(7);
    let said = negative_versions.watch(key(0), b"k", View(1), NOW);
    assert!(!negative_versions.has_changed(&key(0), said, View(1)));
    assert!(negative_versions.has_changed(&key(0), said, View(2)));
    assert!(NegativeVersions::new(8).has_changed(&key(0), said, View(1)));
}

#[test]
fn keys_with_one_hash_count_for_each_other() {
    let mut negative_versions = NegativeVersions::new(7);
    let first = negative_versions.watch(key(0), b"first", View(1), NOW);
    let second = negative_versions.watch(key(0), b"second", View(1), NOW);
    assert!(negative_versions.has_changed(&key(0), first, View(1)));
    assert!(!negative_versions.has_changed(&key(0), second, View(1)));
}

#[test]
fn version_survives_its_encoding() {
    let negative_version = NegativeVersions::new(u64::MAX).watch(key(0), b"k", View(u32::MAX), NOW);
    let versions = [
        Version::Unknown,
        Version::Written(Op(u64::MAX)),
        Version::Absent(negative_version),
    ];
    for version in versions {
        assert_eq!(Version::decode(version.encode()), version);
        assert_eq!(Version::parse(version.line().trim_end()), version);
    }
    assert_eq!(Version::parse("nonsense"), Version::Unknown);
    assert_eq!(Version::decode([9; 4]), Version::Unknown);
}

/// At a brick's own port, as in Redis Cluster: the client is told when it queues.
#[test]
fn command_about_several_slots_is_not_queued_at_a_bricks_port() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Brick);
    let replies = node.call(client, "MULTI\nMSET a 1 b 2\nEXEC");
    assert!(replies.starts_with("+OK -CROSSSLOT"), "{replies}");
    assert!(replies.contains(" -EXECABORT"), "{replies}");
}
