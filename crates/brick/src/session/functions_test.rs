//! FUNCTION and FCALL on whole bricks.

use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::cluster_harness::tables::replicated;
use crate::harness::{Client, Node, with};
use crate::users::{Grant, Rights, User};
use brickyard_metadata::{Change, Library, LibraryFunction, LibraryPolicy};
use brickyard_types::Durability;

fn node(bricks: u32) -> (Node, Client) {
    let mut node = Node::new(bricks, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    (node, client)
}

const COUNTER: &str = "FUNCTION LOAD \"#!lua name=counters\\nredis.register_function('Count', function(keys, args) \
                       local n = redis.call('incrby', keys[1], args[1]) redis.call('set', keys[2], n) return n end) \
                       redis.register_function{function_name='peek', callback=function(keys) return redis.call('get', keys[1]) end, \
                       flags={'no-writes'}, description='looks'}\"";

#[test]
fn function_is_called_at_every_brick_wherever_its_keys_are() {
    for bricks in [1_usize, 3] {
        let (mut node, client) = node(bricks as u32);
        assert_eq!(node.call(client, COUNTER), "$8 counters");
        for brick in 0..bricks {
            let there = node.connect(brick, Port::Node);
            let reply = node.call(there, "FCALL count 2 {t}a {t}b 5");
            assert_eq!(reply, format!(":{}", 5 * (brick + 1)));
            assert_eq!(
                node.call(there, "FCALL_RO PEEK 1 {t}b"),
                format!("$1 {}", 5 * (brick + 1)).replace("$1 1", "$2 1")
            );
        }
        let apart = node.call(client, "FCALL count 2 a b 1");
        assert_eq!(apart, ":1", "keys of several slots");
        assert_eq!(node.call(client, "GET b"), "$1 1");
    }
}

#[test]
fn function_runs_in_a_transaction_as_it_is_then() {
    let (mut node, client) = node(2);
    node.call(client, COUNTER);
    let other = node.connect(1, Port::Node);
    node.call(client, "MULTI\nFCALL count 2 {t}a {t}b 1\nGET {t}b");
    let replaced = COUNTER
        .replace("LOAD", "LOAD REPLACE")
        .replace("return n end", "return -n end");
    assert_eq!(node.call(other, &replaced), "$8 counters");
    assert_eq!(node.call(client, "EXEC"), "*2 :-1 $1 1");
    let refused = node.call(client, "MULTI\nFUNCTION FLUSH\nMONITOR\nEXEC");
    assert_eq!(
        refused.matches("call it outside of MULTI").count(),
        2,
        "{refused}"
    );
    assert!(
        refused.ends_with("-EXECABORT Transaction discarded because of previous errors."),
        "{refused}"
    );
    let unknown = node.call(client, "MULTI\nFCALL other 0\nEXEC");
    assert_eq!(
        unknown,
        "+OK -ERR Function not found -EXECABORT Transaction discarded because of previous errors."
    );
    let gone = node.call(client, "MULTI\nFCALL count 2 {t}a {t}b 1");
    assert_eq!(gone, "+OK +QUEUED");
    node.call(other, "FUNCTION FLUSH");
    assert_eq!(
        node.call(client, "EXEC"),
        "-EXECABORT Transaction discarded because of: Function not found"
    );
    assert_eq!(node.call(client, "GET {t}a"), "$1 1");
}

#[test]
fn function_that_another_node_has_just_loaded_is_found() {
    let (mut node, client) = node(3);
    let function = |name: &str, flags| LibraryFunction {
        name: name.to_owned(),
        description: None,
        flags,
    };
    let code = "#!lua name=a\nredis.register_function('f', function(keys) return #keys end) \
                redis.register_function('g', function(keys) return redis.call('get', 'k') end)";
    let library = || Library {
        name: "a".to_owned(),
        code: code.as_bytes().to_vec(),
        functions: vec![function("f", 0), function("g", 0)],
    };
    for (request, expected) in [
        ("FCALL f 0", ":0"),
        ("FCALL f 1 k", ":1"),
        ("FCALL f 2 k l", ":2"),
        ("FCALL g 0", "$-1"),
        ("FCALL h 0", "-ERR Function not found"),
        (
            "FCALL_RO f 0",
            "-ERR Can not execute a script with write flag using *_ro command.",
        ),
        ("FCALL f x", "-ERR Bad number of keys provided"),
    ] {
        node.call(client, "FUNCTION FLUSH");
        node.elsewhere = Some(Change::AddLibraries {
            libraries: vec![library()],
            policy: LibraryPolicy::Append,
        });
        // What stands behind it waits, and what stands before it is answered first.
        let replies = node.call(client, &format!("SET x 1\n{request}\nGET x"));
        assert_eq!(replies, format!("+OK {expected} $1 1"), "{request}");
    }
}

#[test]
fn libraries_are_listed_dumped_and_restored() {
    let (mut node, client) = node(2);
    node.call(client, COUNTER);
    let other = node.connect(1, Port::Node);
    let listed = "*1 *6 $12 library_name $8 counters $6 engine $3 LUA $9 functions *2 \
                  *6 $4 name $5 Count $11 description $-1 $5 flags *0 \
                  *6 $4 name $4 peek $11 description $5 looks $5 flags *1 +no-writes";
    assert_eq!(node.call(other, "FUNCTION LIST"), listed);
    assert_eq!(node.call(other, "FUNCTION LIST LIBRARYNAME COUNT*"), listed);
    assert_eq!(node.call(other, "FUNCTION LIST LIBRARYNAME other"), "*0");
    let stats = "*4 $14 running_script $-1 $7 engines *2 $3 LUA *4 $15 libraries_count :1 $15 functions_count :2";
    assert_eq!(node.call(other, "FUNCTION STATS"), stats);
    assert_eq!(
        node.call(other, "FUNCTION KILL"),
        "-NOTBUSY No scripts in execution right now."
    );
    assert_eq!(
        node.call(client, COUNTER),
        "-ERR Library 'counters' already exists"
    );
    assert_eq!(
        node.call(client, "FUNCTION DELETE other"),
        "-ERR Library not found"
    );
    assert_eq!(node.call(client, "FUNCTION DELETE counters"), "+OK");
    assert_eq!(node.call(other, "FUNCTION LIST"), "*0");
    assert_eq!(
        node.call(client, "FUNCTION RESTORE x"),
        "-ERR DUMP payload version or checksum are wrong"
    );
}

#[test]
fn who_does_not_administer_all_tables_calls_functions_and_changes_none() {
    let grant = |tables: &str, admin| Grant {
        tables: tables.to_owned(),
        rights: Rights {
            read: true,
            write: true,
            admin,
        },
    };
    let user = |name: &str, grants| User {
        name: name.to_owned(),
        password_hashes: vec!["hash".to_owned()],
        grants,
        ..User::unrestricted()
    };
    let users = vec![
        user("ann", vec![grant("*", false), grant("default", true)]),
        user("root", vec![grant("*", true)]),
    ];
    let mut node = Node::with_users(1, with(Durability::Log), users);
    let (ann, root) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    assert_eq!(node.call(ann, "AUTH ann right"), "+OK");
    assert_eq!(node.call(root, "AUTH root right"), "+OK");
    assert_eq!(node.call(root, COUNTER), "$8 counters");
    for request in [
        "FUNCTION FLUSH",
        "FUNCTION DELETE counters",
        "FUNCTION RESTORE x",
        COUNTER,
    ] {
        let refused = node.call(ann, request);
        assert!(
            refused.starts_with("-NOPERM User ann has no permissions"),
            "{refused}"
        );
    }
    assert_eq!(node.call(ann, "FCALL count 2 {t}a {t}b 5"), ":5");
    assert!(node.call(root, "ACL LOG").contains("function|flush"));
}

#[test]
fn function_of_a_key_on_another_node_runs_there() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, _) = cluster.places_of("{t}a");
    let code = "#!lua name=a\nredis.register_function('f', function(keys, args) return redis.call('append', keys[1], args[1]) end)";
    cluster.change(Change::AddLibraries {
        libraries: vec![Library {
            name: "a".to_owned(),
            code: code.as_bytes().to_vec(),
            functions: vec![LibraryFunction {
                name: "f".to_owned(),
                description: None,
                flags: 0,
            }],
        }],
        policy: LibraryPolicy::Append,
    });
    for host in 0..3 {
        let client = cluster.connect(host, Port::Node);
        let reply = cluster.call(client, "FCALL f 1 {t}a xx");
        assert_eq!(
            reply,
            format!(":{}", 2 * (host + 1)),
            "asked of {host}, at {primary}"
        );
    }
}
