//! The same random commands to a real Redis and to us: every reply must be the same bytes.

use brickyard_e2e::differential::run::Pair;
use brickyard_e2e::differential::{Dialect, check};
use brickyard_e2e::server::{ServerKind, Setup};
use brickyard_e2e::skip::number_from_environment;

/// Sequences of each comparison; a few thousand in all. `BRICKYARD_E2E_SEQUENCES` asks for more.
fn sequences() -> u64 {
    number_from_environment("BRICKYARD_E2E_SEQUENCES", 1000)
}

/// `BRICKYARD_E2E_SEED` runs a reported sequence again, or others than the usual ones.
fn seed() -> u64 {
    number_from_environment("BRICKYARD_E2E_SEED", 1)
}

/// Sequences with which a Redis is compared with another Redis, to show that the test is right.
const SELF_CHECKS: u64 = 200;

/// The brick's port of a cluster of one brick against a Redis Cluster node that owns all slots:
/// `CROSSSLOT` agrees wherever keys of one command are in different slots.
#[test]
fn brick_port_answers_as_redis_cluster_does() {
    let Some(redis) = Setup::redis(ServerKind::RedisCluster, "cluster differential test") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(1).start());
    let mut pair = Pair::new(redis.port(), brickyard.brick_port(0));
    check(&mut pair, Dialect::Cluster, seed(), sequences());
}

/// The node port with keys spread over three bricks against a standalone Redis.
#[test]
fn node_port_answers_as_standalone_redis_does() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "standalone differential test") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(3).start());
    let mut pair = Pair::new(redis.port(), brickyard.port());
    check(&mut pair, Dialect::Standalone, seed(), sequences());
}

/// The other media and durabilities must not show in any reply.
#[test]
fn tables_of_any_medium_and_durability_answer_as_redis_does() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "differential test of tables") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(2).start());
    let mut admin = brickyard.connect();
    let tables = [
        ("cold", "TABLE CREATE cold MEDIUM disk"),
        ("volatile", "TABLE CREATE volatile DURABILITY memory"),
        ("careful", "TABLE CREATE careful DURABILITY fsync"),
    ];
    for (name, create) in tables {
        let reply = admin.line(create);
        assert!(reply.is_ok(), "{create} was answered with {reply}");
        let mut pair = Pair::new(redis.port(), brickyard.port()).on_table(name);
        check(
            &mut pair,
            Dialect::Table,
            seed() + 1_000_000,
            sequences() / 4,
        );
    }
}

/// Redis against Redis: no difference, so the rules of the comparison leave out all that varies.
#[test]
fn redis_answers_as_redis_does() {
    for (kind, dialect) in [
        (ServerKind::Redis, Dialect::Standalone),
        (ServerKind::RedisCluster, Dialect::Cluster),
    ] {
        let Some(redis) = Setup::redis(kind, "check of the differential test itself") else {
            return;
        };
        let (one, other) = (redis.clone().start(), redis.start());
        let mut pair = Pair::new(one.port(), other.port());
        let count = number_from_environment("BRICKYARD_E2E_SEQUENCES", SELF_CHECKS);
        check(&mut pair, dialect, seed(), count);
    }
}
