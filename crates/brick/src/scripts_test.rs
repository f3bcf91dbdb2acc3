use super::*;
use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::cluster_harness::tables::replicated;
use crate::harness::{Client, Node, restarted_on_disk, with};
use brickyard_script::{CommandHost, Script, ScriptEnd, TEXT_BYTES_MAX, sha1_hex};
use brickyard_types::record::Kind;
use brickyard_types::{Durability, TableAttributes};
use brickyard_wire::{Protocol, Value};
use std::sync::atomic::Ordering;

fn node(bricks: u32) -> (Node, Client) {
    let mut node = Node::new(bricks, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    (node, client)
}

const INCREMENT: &str =
    "local n = redis.call('incr', KEYS[1]) redis.call('set', KEYS[2], n) return n";

#[test]
fn a_script_runs_where_its_keys_are_and_what_it_writes_is_one_record() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup) = cluster.places_of("{t}a");
    let backup = backup.unwrap();
    let elsewhere = (0..3).find(|at| *at != primary && *at != backup).unwrap();
    for (times, host) in [primary, backup, elsewhere].into_iter().enumerate() {
        let client = cluster.connect(host, Port::Node);
        let reply = cluster.call(client, &format!("EVAL \"{INCREMENT}\" 2 {{t}}a {{t}}b"));
        assert_eq!(reply, format!(":{}", times + 1), "asked of {host}");
        assert_eq!(
            cluster.call(client, "GET {t}b"),
            format!("$1 {}", times + 1)
        );
    }
    for at in [primary, backup] {
        let records = cluster.records(at);
        let batches = records
            .iter()
            .filter(|(header, ..)| header.kind == Kind::Batch);
        assert_eq!(batches.count(), 3, "at {at}");
    }
}

#[test]
fn what_a_script_has_written_stays_when_it_fails_and_goes_when_it_is_ended() {
    for bricks in [1, 3] {
        let (mut node, client) = node(bricks);
        node.call(client, "SET {t}text abc");
        let failed = node.call(
            client,
            "EVAL \"redis.call('set', KEYS[1], 1) return redis.call('incr', KEYS[2])\" 2 {t}a {t}text",
        );
        assert!(
            failed.starts_with("-ERR value is not an integer"),
            "{failed}"
        );
        assert!(failed.contains("@user_script:1."), "{failed}");
        assert_eq!(node.call(client, "GET {t}a"), "$1 1");
        let ended = node.call(
            client,
            "EVAL \"redis.call('set', KEYS[1], 2) while true do end\" 1 {t}a",
        );
        assert!(ended.contains("nothing of it was executed"), "{ended}");
        assert_eq!(node.call(client, "GET {t}a"), "$1 1");
    }
}

#[test]
fn a_script_sees_what_it_has_written_and_others_see_all_of_it() {
    let (mut node, client) = node(2);
    let script = "redis.call('mset', KEYS[1], 'x', KEYS[2], 'y') redis.call('del', KEYS[1]) \
                  return {redis.call('exists', KEYS[1], KEYS[2]), redis.call('get', KEYS[2]), redis.call('ttl', KEYS[2])}";
    let reply = node.call(client, &format!("EVAL \"{script}\" 2 {{t}}a {{t}}b"));
    assert_eq!(reply, "*3 :1 $1 y :-1");
    assert_eq!(node.call(client, "MGET {t}a {t}b"), "*2 $-1 $1 y");
}

#[test]
fn scripts_are_known_by_their_names_on_all_bricks_of_a_node() {
    let (mut node, client) = node(2);
    let other = node.connect(1, Port::Node);
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    let unknown = node.call(client, &format!("EVALSHA {sha} 0"));
    assert_eq!(unknown, "-NOSCRIPT No matching script. Please use EVAL.");
    assert_eq!(
        node.call(client, "SCRIPT LOAD \"return 1\""),
        format!("$40 {sha}")
    );
    assert_eq!(
        node.call(other, &format!("EVALSHA {} 0", sha.to_uppercase())),
        ":1"
    );
    assert_eq!(node.call(other, &format!("EVALSHA_RO {sha} 0")), ":1");
    assert_eq!(
        node.call(other, &format!("SCRIPT EXISTS {sha} x")),
        "*2 :1 :0"
    );
    assert_eq!(node.call(client, "EVAL \"return 2\" 0"), ":2");
    let two = "7f923f79fe76194c868d7e1d0820de36700eb649";
    assert_eq!(node.call(other, &format!("EVALSHA {two} 0")), ":2");
    assert_eq!(node.call(client, "SCRIPT FLUSH"), "+OK");
    assert_eq!(
        node.call(other, &format!("SCRIPT EXISTS {sha} {two}")),
        "*2 :0 :0"
    );
    let broken = node.call(client, "SCRIPT LOAD \"return (\"");
    assert!(
        broken.starts_with("-ERR Error compiling script"),
        "{broken}"
    );
    assert_eq!(
        node.call(client, "SCRIPT KILL"),
        "-NOTBUSY No scripts in execution right now."
    );
}

#[test]
fn keys_that_are_not_declared_are_found_if_they_are_of_one_slot() {
    for bricks in [1, 4] {
        let (mut node, client) = node(bricks);
        let undeclared =
            "EVAL \"redis.call('set', '{t}a', ARGV[1]) return redis.call('get', '{t}a')\" 0 v";
        assert_eq!(node.call(client, undeclared), "$1 v");
        let beside = "EVAL \"return redis.call('get', '{t}a')\" 1 {t}b";
        assert_eq!(node.call(client, beside), "$1 v");
        let apart = node.call(
            client,
            "EVAL \"redis.call('get', 'x') return redis.call('get', 'y')\" 0",
        );
        assert!(
            apart.starts_with("-ERR Script attempted to access keys that do not hash"),
            "{apart}"
        );
        let declared = node.call(client, "EVAL \"return 1\" 2 x y");
        assert_eq!(declared, ":1");
        let both = "redis.call('set', KEYS[1], 1) return redis.call('incr', KEYS[2])";
        let both = node.call(client, &format!("EVAL \"{both}\" 2 x y"));
        assert_eq!(both, ":1");
        assert_eq!(node.call(client, "MGET x y"), "*2 $1 1 $1 1");
    }
}

#[test]
fn commands_of_a_script_are_those_that_scripts_may_call() {
    let (mut node, client) = node(1);
    for (body, reply) in [
        ("return redis.call('ping')", "+PONG"),
        ("return redis.call('echo', 'x')", "$1 x"),
        ("return #redis.call('time')", ":2"),
        (
            "return redis.pcall('nope').err",
            "$44 ERR Unknown Redis command called from script",
        ),
    ] {
        assert_eq!(
            node.call(client, &format!("EVAL \"{body}\" 0")),
            reply,
            "{body}"
        );
    }
    for (body, error) in [
        (
            "return redis.call('get')",
            "Wrong number of args calling Redis command",
        ),
        (
            "return redis.call('multi')",
            "This Redis command is not allowed from script",
        ),
        (
            "return redis.call('eval', 'return 1', 0)",
            "This Redis command is not allowed from script",
        ),
        (
            "return redis.call('dbsize')",
            "'dbsize' is about more than the keys of one slot",
        ),
        (
            "return redis.call('flushall')",
            "is about more than the keys of one slot",
        ),
    ] {
        let reply = node.call(client, &format!("EVAL \"{body}\" 0"));
        assert!(
            reply.starts_with("-ERR ") && reply.contains(error),
            "{body}: {reply}"
        );
    }
}

#[test]
fn scripts_that_only_read_write_nothing_and_run_at_copies() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let client = cluster.connect(backup.unwrap(), Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.settle();
    cluster.mute(primary, true);
    assert_eq!(
        cluster.call(client, "EVAL_RO \"return redis.call('get', KEYS[1])\" 1 k"),
        "$1 v"
    );
    let said = "EVAL \"#!lua flags=no-writes\\nreturn redis.call('get', KEYS[1])\" 1 k";
    assert_eq!(cluster.call(client, said), "$1 v");
    for writes in [
        "EVAL_RO \"return redis.call('set', KEYS[1], 1)\" 1 k",
        "EVAL \"#!lua flags=no-writes\\nreturn redis.call('set', KEYS[1], 1)\" 1 k",
    ] {
        let refused = cluster.call(client, writes);
        assert!(
            refused.starts_with("-ERR Write commands are not allowed from read-only scripts"),
            "{refused}"
        );
    }
    let refused = cluster.call(client, "EVAL_RO \"#!lua\\nreturn 1\" 1 k");
    assert!(
        refused.starts_with("-ERR Can not execute a script with write flag"),
        "{refused}"
    );
}

#[test]
fn scripts_in_transactions_are_part_of_the_one_record() {
    for bricks in [1, 3] {
        let (mut node, client) = node(bricks);
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        node.call(client, "SCRIPT LOAD \"return 1\"");
        let reply = node.call(
            client,
            &format!(
                "MULTI\nSET {{t}}a 1\nEVAL \"return redis.call('incrby', KEYS[1], ARGV[1])\" 1 {{t}}a 5\nPING\n\
                 EVALSHA {sha} 0\nGET {{t}}a\nEXEC"
            ),
        );
        assert_eq!(
            reply,
            "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED *5 +OK :6 +PONG :1 $1 6"
        );
        let alone = node.call(
            client,
            &format!("MULTI\nEVALSHA {sha} 0\nEVAL \"return 2\" 0\nEXEC"),
        );
        assert_eq!(alone, "+OK +QUEUED +QUEUED *2 :1 :2");
        let unknown = node.call(
            client,
            "MULTI\nEVALSHA ffffffffffffffffffffffffffffffffffffffff 0\nSET a 1\nEXEC",
        );
        assert!(
            unknown.contains("-NOSCRIPT") && unknown.contains("-EXECABORT"),
            "{unknown}"
        );
        let other = node.connect(0, Port::Node);
        node.call(client, "WATCH {t}a");
        node.call(
            other,
            "EVAL \"return redis.call('set', KEYS[1], 'theirs')\" 1 {t}a",
        );
        let lost = node.call(
            client,
            "MULTI\nEVAL \"return redis.call('set', KEYS[1], 'ours')\" 1 {t}a\nEXEC",
        );
        assert_eq!(lost, "+OK +QUEUED *-1");
        assert_eq!(node.call(client, "GET {t}a"), "$6 theirs");
    }
}

#[test]
fn scripts_do_what_their_user_may_do_wherever_they_run() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup) = cluster.places_of("{a}1");
    let elsewhere = (0..3)
        .find(|at| *at != primary && Some(*at) != backup)
        .unwrap();
    let root = cluster.connect(primary, Port::Node);
    let rules = "ACL SETUSER ann on nopass ~{a}* +@read +set +eval +evalsha -get";
    assert_eq!(cluster.call(root, rules), "+OK");
    for host in [primary, elsewhere] {
        let ann = cluster.connect(host, Port::Node);
        assert_eq!(cluster.call(ann, "AUTH ann x"), "+OK");
        let set = "EVAL \"return redis.call('set', KEYS[1], 1)\" 1 {a}1";
        assert_eq!(cluster.call(ann, set), "+OK", "at {host}");
        let get = cluster.call(ann, "EVAL \"return redis.call('get', KEYS[1])\" 1 {a}1");
        assert!(
            get.starts_with("-NOPERM ACL failure in script: User ann has no permissions to run the 'get' command"),
            "{get}"
        );
        let undeclared = cluster.call(ann, "EVAL \"return redis.call('set', '{a}2', 1)\" 1 {a}1");
        assert!(undeclared.starts_with("-NOPERM"), "{undeclared}");
        // And it can ask before.
        for (command, may) in [
            ("'set', KEYS[1], 1", ":1"),
            ("'get', KEYS[1]", "$-1"),
            ("'set', '{a}2', 1", "$-1"),
        ] {
            let asked = format!("EVAL \"return redis.acl_check_cmd({command})\" 1 {{a}}1");
            assert_eq!(cluster.call(ann, &asked), may, "{command} at {host}");
        }
        let other = cluster.call(ann, "EVAL \"return 1\" 1 b");
        assert!(
            other.starts_with("-NOPERM No permissions to access a key"),
            "{other}"
        );
    }
    assert_eq!(cluster.call(root, "EXISTS {a}2"), ":0");
}

/// What a pipeline is answered when all reads are.
fn answered(node: &mut Node, client: Client, requests: &str) -> String {
    node.send(client, requests);
    for _ in 0..10 {
        node.settle();
        node.answer_reads(0);
    }
    node.receive(client)
}

#[test]
fn a_script_waits_for_values_and_runs_again_from_its_beginning() {
    let (mut node, client) = restarted_on_disk("MSET {t}a 1 {t}b 2 {t}c 3");
    let script = "local sum = redis.call('incr', KEYS[1]) + redis.call('get', KEYS[2]) + redis.call('get', '{t}c') \
                  redis.call('set', KEYS[2], sum) return sum";
    let reply = answered(
        &mut node,
        client,
        &format!("EVAL \"{script}\" 2 {{t}}a {{t}}b"),
    );
    assert_eq!(reply, ":7");
    let reply = answered(&mut node, client, "MGET {t}a {t}b {t}c");
    assert_eq!(reply, "*3 $1 2 $1 7 $1 3");
}

#[test]
fn a_script_keeps_its_place_among_the_commands_on_keys_that_it_has_not_declared() {
    let (mut node, client) = restarted_on_disk("MSET {t}a 1 {t}b 2");
    let both = "EVAL \"return {redis.call('get', KEYS[1]), redis.call('get', '{t}b')}\" 1 {t}a\nSET {t}b new\nGET {t}b";
    assert_eq!(answered(&mut node, client, both), "*2 $1 1 $1 2 +OK $3 new");
    // And a script waits for those that are waited for.
    let (mut node, client) = restarted_on_disk("MSET {t}a 1 {t}b 2");
    let behind = "GET {t}b\nEVAL \"return redis.call('set', '{t}b', 'new')\" 1 {t}a\nGET {t}b";
    assert_eq!(answered(&mut node, client, behind), "$1 2 +OK $3 new");
}

#[test]
fn a_script_on_a_table_at_its_bound_may_shrink_it() {
    let attributes = TableAttributes {
        maxmemory: Some(1_500_000),
        ..with(Durability::Log)
    };
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    let value = "x".repeat(1000);
    let set = |node: &mut Node, number: usize| {
        let script =
            format!("EVAL \"return redis.call('set', KEYS[1], ARGV[1])\" 1 k{number} {value}");
        node.call(client, &script)
    };
    let refused = (0..3000).find(|number| set(&mut node, *number).starts_with("-OOM"));
    assert!(refused.is_some(), "3 MB fit into 1.5");
    assert!(node.bricks[0].core.shared.stats[0].errors.memory.value() > 0);
    let read = node.call(client, "EVAL \"return redis.call('strlen', KEYS[1])\" 1 k0");
    assert_eq!(read, ":1000");
    let removed = node.call(client, "EVAL \"return redis.call('del', KEYS[1])\" 1 k0");
    assert_eq!(removed, ":1");
}

#[test]
fn a_script_s_writes_survive_the_primary() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, _) = cluster.places_of("{t}a");
    let client = cluster.connect((primary + 1) % 3, Port::Node);
    for _ in 0..5 {
        let reply = cluster.call(client, &format!("EVAL \"{INCREMENT}\" 2 {{t}}a {{t}}b"));
        assert!(reply.starts_with(':'), "{reply}");
    }
    cluster.kill(primary);
    let read = |cluster: &mut Cluster| cluster.call(client, "MGET {t}a {t}b");
    cluster.turn_until(|cluster| read(cluster) == "*2 $1 5 $1 5");
}

const ENDLESS: &str = "redis.call('incr', KEYS[1]) while true do end";

#[test]
fn what_scripts_take_is_counted_for_one_turn() {
    let mut settings = Settings::default();
    *settings.script_time_max.get_mut() = 5;
    let node = NodeScripts::new(1);
    let mut scripts = BrickScripts::default();
    let (turn, next) = (Instant(1), Instant(2));
    assert!(!scripts.have_had_their_turn(turn, &settings));
    let mut engine = scripts.take(&node, 0, &settings);
    let body = b"while true do end";
    let script = Script {
        body,
        sha: &sha1_hex(body),
        keys: &[],
        args: &[],
        function: None,
    };
    assert!(matches!(
        engine.run(&script, &mut Nobody),
        ScriptEnd::Ended(_)
    ));
    scripts.give_back(engine, turn);
    assert!(scripts.have_had_their_turn(turn, &settings));
    assert!(!scripts.have_had_their_turn(next, &settings));
}

struct Nobody;

impl CommandHost for Nobody {
    fn call(&mut self, _args: &[&[u8]], _protocol: Protocol) -> Option<Value> {
        None
    }
}

#[test]
fn scripts_of_other_bricks_run_turn_after_turn() {
    let (mut node, client) = node(2);
    let settings = &node.bricks[0].core.shared.settings;
    settings.script_time_max.store(5, Ordering::Relaxed);
    settings
        .slowlog_log_slower_than
        .store(3_000, Ordering::Relaxed);
    let is_forwarded = |key: &String| {
        let before = node.bricks[0].core.stats().forwards.value();
        node.call(client, &format!("GET {key}"));
        node.bricks[0].core.stats().forwards.value() > before
    };
    let mut keys = (0..100).map(|number| format!("k{number}"));
    let key = keys
        .find(is_forwarded)
        .expect("the other brick has half of the keys");
    let others: Vec<Client> = (0..3).map(|_| node.connect(0, Port::Node)).collect();
    for other in &others {
        node.send(*other, &format!("EVAL \"{ENDLESS}\" 1 {key}"));
    }
    for _ in &others {
        node.advance(Duration::from_millis(1));
    }
    for other in others {
        let reply = node.receive(other);
        assert!(reply.contains("took too long"), "{reply}");
    }
    assert_eq!(node.call(client, &format!("EXISTS {key}")), ":0");
    // What they took is no time of what its own clients ask.
    let there = node.connect(1, Port::Node);
    assert_eq!(node.call(there, "PING\nSLOWLOG LEN"), "+PONG :0");
}

#[test]
fn a_text_that_is_too_long_costs_nobody_a_name() {
    let scripts = NodeScripts::new(1);
    scripts.add(b"return 1").unwrap();
    assert!(scripts.add(&vec![b' '; TEXT_BYTES_MAX + 1]).is_err());
    assert_eq!(scripts.len_and_bytes(), (1, 8));
}

#[test]
fn a_command_of_a_transaction_reads_no_more_than_one_that_comes_alone() {
    let (mut node, client) = node(1);
    let settings = &node.bricks[0].core.shared.settings;
    settings.output_bytes_max.store(2 << 20, Ordering::Relaxed);
    node.call(client, "SETRANGE k 900000 x");
    let keys = ["k"; 10].join(" ");
    let alone = node.call(client, &format!("MGET {keys}"));
    assert!(alone.starts_with("-ERR"), "{alone}");
    let queued = node.call(
        client,
        &format!("MULTI\nSTRLEN k\nMGET {keys}\nSTRLEN k\nEXEC"),
    );
    assert!(queued.contains(&alone), "{queued}");
    let read = format!("EVAL \"return redis.call('mget', unpack(KEYS))\" 10 {keys}");
    let scripted = node.call(client, &read);
    assert!(scripted.starts_with(&alone), "{scripted}");
    // What it reads one after the other counts one by one.
    let each = "local n = 0 for i = 1, 10 do n = n + #redis.call('get', KEYS[1]) end return n";
    assert_eq!(
        node.call(client, &format!("EVAL \"{each}\" 1 k")),
        ":9000010"
    );
}

#[test]
fn a_pipeline_of_slow_scripts_takes_turns_and_the_slow_log_has_each() {
    let (mut node, client) = node(1);
    let settings = &node.bricks[0].core.shared.settings;
    settings.script_time_max.store(5, Ordering::Relaxed);
    settings
        .slowlog_log_slower_than
        .store(3_000, Ordering::Relaxed);
    let endless = format!("EVAL \"{ENDLESS}\" 1 k");
    let pipeline = [&endless[..], "GET k", &endless, &endless].join("\n");
    node.send(client, &pipeline);
    // In one turn, however often the loop lets the brick run in it.
    for _ in 0..5 {
        node.bricks[0].run();
    }
    let first = node.receive(client);
    assert_eq!(first.matches("took too long").count(), 1, "{first}");
    for _ in 0..3 {
        node.advance(Duration::from_millis(1));
    }
    let rest = node.receive(client);
    assert_eq!(rest.matches("took too long").count(), 2, "{rest}");
    assert!(rest.starts_with("$-1 "), "{rest}");
    assert_eq!(node.call(client, "SLOWLOG LEN"), ":3");
}
