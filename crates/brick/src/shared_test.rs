use crate::accepted::Port;
use crate::harness::{Node, with};
use crate::stats::{CommandStats, Stats};
use brickyard_types::Durability;
use std::fmt::Write;
use std::sync::Arc;

/// Bytes that processors fetch together: a cache line and its neighbour.
const LINES_BYTES: usize = 128;

/// Everything that the bricks of a node share, but for what the first one counts of itself: that is on lines of its own.
fn of_others(node: &Node) -> String {
    let shared = &node.bricks[0].core.shared;
    let (identity, address, limits) = (&shared.identity, &shared.address, &shared.limits);
    let (settings, users) = (&shared.settings, &shared.users);
    let (process, counters, quotas) = (&shared.process, &shared.counters, &shared.quotas);
    let mut all = format!(
        "{identity:?} {address:?} {limits:?} {settings:?} {users:?} {process:?} {counters:?} {quotas:?}"
    );
    for other in &shared.stats[1..] {
        // Their turns go on, with nothing in them.
        let (clients, errors, log) = (&other.clients, &other.errors, &other.log);
        let (commands, forwards) = (&other.commands, &other.forwards);
        let (by_id, tables) = (&other.commands_by_id, &other.tables);
        let _ = write!(
            all,
            "{clients:?} {errors:?} {log:?} {commands:?} {forwards:?} {by_id:?} {tables:?}"
        );
    }
    all
}

#[test]
fn work_on_a_bricks_own_keys_changes_nothing_that_bricks_share() {
    for durability in [Durability::Memory, Durability::Log, Durability::Fsync] {
        let mut node = Node::new(3, with(durability));
        let client = node.connect(0, Port::Brick);
        // Those that are another brick's are answered with where that is.
        let keys: Vec<String> = (0..200)
            .map(|number| format!("key{number}"))
            .filter(|key| {
                !node
                    .call(client, &format!("SET {key} v"))
                    .starts_with("-MOVED")
            })
            .collect();
        assert!(keys.len() > 30, "{} keys of 200", keys.len());
        node.sync(0);
        node.settle();
        let before = of_others(&node);
        let commands = node.bricks[0].core.stats().commands.value();
        let handles = Arc::strong_count(&node.bricks[0].core.shared);
        for key in &keys {
            let replies = node.call(
                client,
                &format!("SET {key} w\nGET {key}\nINCR n{{{key}}}\nDEL {key}"),
            );
            node.sync(0);
            node.settle();
            assert!(!replies.contains('-'), "{replies}");
        }
        assert!(of_others(&node) == before, "what bricks share has changed");
        assert_eq!(Arc::strong_count(&node.bricks[0].core.shared), handles);
        let stats = node.bricks[0].core.stats();
        assert!(stats.commands.value() >= commands + 4 * keys.len() as u64);
        assert_eq!(stats.forwards.value(), 0, "no brick was asked for anything");
    }
}

#[test]
fn what_a_brick_counts_shares_no_cache_line() {
    assert_eq!(align_of::<Stats>() % LINES_BYTES, 0);
    assert_eq!(align_of::<CommandStats>() % LINES_BYTES, 0);
    let node = Node::new(3, with(Durability::Log));
    let stats = &node.bricks[0].core.shared.stats;
    let line = |at: usize| at / LINES_BYTES;
    let spans = stats.iter().flat_map(|one| {
        let commands = one.commands_by_id.as_ptr_range();
        let itself = std::ptr::from_ref(one) as usize;
        [
            line(itself)..=line(itself + size_of::<Stats>() - 1),
            line(commands.start as usize)..=line(commands.end as usize - 1),
        ]
    });
    let mut spans: Vec<_> = spans.collect();
    spans.sort_by_key(|span| *span.start());
    assert!(
        spans.windows(2).all(|pair| pair[0].end() < pair[1].start()),
        "{spans:?}"
    );
}
