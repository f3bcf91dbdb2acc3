//! The `redis` crate's cluster client.

use crate::kill::{VICTIM, replicated_cluster};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for, wait_for};
use redis::cluster::{ClusterClient, ClusterClientBuilder, ClusterConnection};
use redis::cluster_read_routing::RandomReplicaStrategy;
use redis::{RedisResult, TypedCommands};
use std::collections::{BTreeSet, HashMap};

const ROUNDS: i64 = 150;
const COUNTERS: i64 = 10;
const DELETED_AFTER: i64 = 20;
const KEYS: u64 = 300;

/// Keys that share a slot. This client panics by itself when a command over several slots meets a slot of which it
/// knows no node, so MGET stays within one.
const SLOT_MATES: i64 = 3;

fn key_of(round: i64) -> String {
    format!("{{s{}}}:{round}", round.div_euclid(SLOT_MATES))
}

fn builder(cluster: &Cluster) -> ClusterClientBuilder {
    let seeds = cluster.seeds().into_iter();
    ClusterClientBuilder::new(seeds.map(|it| format!("redis://{it}/")))
}

/// The client, and what it was told.
struct Workload {
    client: ClusterClient,
    connection: Option<ClusterConnection>,
    round: i64,
    values: HashMap<String, Option<String>>,
    counters: HashMap<String, isize>,
    failures: u64,
}

impl Workload {
    fn new(cluster: &Cluster) -> Self {
        Self::of(builder(cluster).build().unwrap())
    }

    fn of(client: ClusterClient) -> Self {
        Self {
            client,
            connection: None,
            round: 0,
            values: HashMap::new(),
            counters: HashMap::new(),
            failures: 0,
        }
    }

    /// Asks again until there is an answer.
    fn call<T>(&mut self, mut request: impl FnMut(&mut ClusterConnection) -> RedisResult<T>) -> T {
        let mut last = None;
        let answer = try_wait_for(PATIENCE, || {
            if self.connection.is_none() {
                let opened = self.client.get_connection();
                self.connection = opened.map_err(|error| last = Some(error)).ok();
            }
            match request(self.connection.as_mut()?) {
                Ok(answer) => Some(answer),
                Err(error) => {
                    self.failures += 1;
                    // This client goes on asking an address where nobody listens any more until it is opened anew,
                    // which is what pools do.
                    if error.is_io_error() {
                        self.connection = None;
                    }
                    last = Some(error);
                    None
                }
            }
        });
        answer.unwrap_or_else(|| panic!("round {}: {last:?}", self.round))
    }

    fn make_rounds(&mut self) {
        for _ in 0..ROUNDS {
            let round = self.round;
            let (key, value) = (key_of(round), round.to_string());
            self.call(|it| it.set(&key, &value));
            self.values.insert(key.clone(), Some(value.clone()));
            assert_eq!(self.call(|it| it.get(&key)), Some(value), "{key}");
            let counter = format!("c:{}", round % COUNTERS);
            let counted = self.call(|it| it.incr(&counter, 1));
            let before = self.counters.insert(counter.clone(), counted).unwrap_or(0);
            assert!(counted > before, "{counter}: {counted} after {before}");
            let recent: Vec<i64> = (round - round % SLOT_MATES..=round).collect();
            let keys: Vec<String> = recent.iter().map(|it| key_of(*it)).collect();
            let many: Vec<i64> = self.call(|it| redis::cmd("MGET").arg(&keys).query(it));
            assert_eq!(many, recent);
            let old = key_of(round - DELETED_AFTER);
            if round % 5 == 0 && self.values.contains_key(&old) {
                self.call(|it| it.del(&old));
                assert_eq!(self.call(|it| it.get(&old)), None, "{old}");
                self.values.insert(old, None);
            }
            self.round += 1;
        }
    }

    /// Reads everything through another connection.
    fn check(&mut self) {
        self.connection = None;
        for (key, value) in self.values.clone() {
            assert_eq!(self.call(|it| it.get(&key)), value, "{key}");
        }
        for (key, least) in self.counters.clone() {
            let seen = self.call(|it| it.get_int(&key));
            assert!(seen >= Some(least), "{key}: {seen:?}, acknowledged {least}");
        }
    }
}

#[test]
fn redis_crate_survives_a_node_kill() {
    let mut cluster = replicated_cluster();
    let mut workload = Workload::new(&cluster);
    workload.make_rounds();
    cluster.kill(VICTIM);
    workload.make_rounds();
    cluster.launch(VICTIM);
    cluster.wait_until_formed();
    cluster.wait_until_whole("default", 2);
    workload.make_rounds();
    workload.check();
    println!(
        "{} values, {} calls repeated",
        workload.values.len(),
        workload.failures
    );
}

/// Writes, counts, lists, reads at replicas and deletes all keys.
fn see_all_keys(writer: &mut Workload, reader: &mut Workload) {
    let names: BTreeSet<String> = (0..KEYS).map(|at| format!("k:{at}")).collect();
    // While partitions change hands a command to all masters may miss some, as with Redis.
    wait_for("no key after FLUSHALL", || {
        writer.call(|it| redis::cmd("FLUSHALL").query::<()>(it));
        // It is counted by a client that knows today's masters.
        writer.connection = None;
        let left: usize = writer.call(|it| redis::cmd("DBSIZE").query(it));
        (left == 0).then_some(())
    });
    for name in &names {
        writer.call(|it| it.set(name, name));
    }
    wait_for("DBSIZE to count all", || {
        let count: usize = writer.call(|it| redis::cmd("DBSIZE").query(it));
        (count == names.len()).then_some(())
    });
    wait_for("KEYS to list all", || {
        let seen: BTreeSet<String> = writer.call(|it| redis::cmd("KEYS").arg("k:*").query(it));
        (seen == names).then_some(())
    });
    for name in &names {
        assert_eq!(reader.call(|it| it.get(name)).as_ref(), Some(name));
    }
}

#[test]
fn redis_crate_sees_all_keys_through_a_node_kill() {
    let mut cluster = replicated_cluster();
    let mut writer = Workload::new(&cluster);
    let mut reader = Workload::of(
        builder(&cluster)
            .read_routing_strategy(RandomReplicaStrategy)
            .build()
            .unwrap(),
    );
    see_all_keys(&mut writer, &mut reader);
    cluster.kill(VICTIM);
    see_all_keys(&mut writer, &mut reader);
    cluster.launch(VICTIM);
    cluster.wait_until_formed();
    cluster.wait_until_whole("default", 2);
    see_all_keys(&mut writer, &mut reader);
}
