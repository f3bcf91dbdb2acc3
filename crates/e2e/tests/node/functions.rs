//! Functions: the same libraries and calls to a real Redis and to us, and dumps that go from one to the other.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::{ServerKind, Setup};
use std::thread;

/// Texts of libraries, each loaded into a server that has none; what is said of each must be the same.
const LOADED: &[&str] = &[
    "return 1",
    "",
    "#!lua name=x",
    "#!lua name=x\nreturn 1",
    "#!lua\nredis.register_function('f', function() end)",
    "#!\nx",
    "#! lua name=a\nx",
    "#!lua name=\nx",
    "#!lua name='a\nx",
    "#!lua name\nx",
    "#!js name=a\nredis.register_function('f', function() end)",
    "#!LUA  NAME=a\r\nredis.register_function('f', function() end)",
    "#!lua name=a-b\nredis.register_function('f', function() end)",
    "#!lua name=a name=b\nredis.register_function('f', function() end)",
    "#!lua name=a foo=b\nredis.register_function('f', function() end)",
    "#!lua name=\"a\"\nredis.register_function('f', function() return 1 end)",
];

/// The same of libraries with the first line `#!lua name=a`. What has registered `f` is then called, with two keys and two arguments.
const LIBRARIES: &[&str] = &[
    "redis.call('get','x')",
    "redis.pcall('get','x')",
    "local x = redis.sha1hex",
    "local x = redis.setresp",
    "local x = redis.REPL_ALL",
    "redis.log(redis.LOG_DEBUG, 'x') redis.register_function('f', function() return 1 end)",
    "redis.log('x')",
    "x = 1",
    "local y = x",
    "local y = tostring",
    "local y = cjson",
    "local y = _G",
    "redis.foo = 1",
    "syntax error here",
    "local x = nil .. 'a'",
    "redis.register_function('f', function() end) error('x')",
    "redis.register_function()",
    "redis.register_function('f')",
    "redis.register_function('f', 1)",
    "redis.register_function('f', nil)",
    "redis.register_function(nil, nil)",
    "redis.register_function({}, function() end)",
    "redis.register_function('f', function() end, 1)",
    "redis.register_function(1, function() end)",
    "redis.register_function(true)",
    "redis.register_function{function_name='f', callback=1}",
    "redis.register_function{function_name='f'}",
    "redis.register_function{callback=function() end}",
    "redis.register_function{function_name=1, callback=function() end}",
    "redis.register_function{function_name={}, callback=function() end}",
    "redis.register_function{function_name='f', callback=function() end, flags='x'}",
    "redis.register_function{function_name='f', callback=function() end, flags={'x'}}",
    "redis.register_function{function_name='f', callback=function() end, flags={1}}",
    "redis.register_function{function_name='f', callback=function() end, flags={{}}}",
    "redis.register_function{function_name='f', callback=function() end, flags={x='no-writes'}}",
    "redis.register_function{function_name='f', callback=function() end, description={}}",
    "redis.register_function{function_name='f', callback=function() return 1 end, description=1}",
    "redis.register_function{function_name='f', callback=function() end, foo=1}",
    "redis.register_function{[redis]=1}",
    "redis.register_function{'f', function() end}",
    "redis.register_function('a-b', function() end)",
    "redis.register_function('', function() end)",
    "redis.register_function('a b', function() end)",
    "redis.register_function('f', function() end) redis.register_function('f', function() end)",
    "redis.register_function{FUNCTION_NAME='f', CALLBACK=function() return 1 end, description='what it does', \
     flags={'no-cluster', 'no-writes','allow-oom','allow-stale','allow-cross-slot-keys','no-writes'}}",
    // What functions see, return and raise.
    "redis.register_function('f', function(keys, args) return {keys, args, #keys} end)",
    "redis.register_function('F', function(keys, args) return 'upper' end)",
    "redis.register_function('f', function() return redis.register_function('g', function() end) end)",
    "redis.register_function('f', function() return KEYS end)",
    "redis.register_function('f', function() x = 1 end)",
    "redis.register_function('f', function() redis.foo = 1 end)",
    "redis.register_function('f', function() return tostring(redis.foo) end)",
    "redis.register_function('f', function() return tostring(foo) end)",
    "redis.register_function('f', function() \n return redis.call('foo') end)",
    "redis.register_function('f', function() \n return redis.call('incr') end)",
    "redis.register_function('f', function() return redis.pcall('foo') end)",
    "redis.register_function('f', function() \n error('oh') end)",
    "redis.register_function('f', function() \n error({err='MY oh'}) end)",
    "redis.register_function('f', function() \n return redis.error_reply('MY oh') end)",
    "redis.register_function('f', function() \n return nil .. 'x' end)",
    "redis.register_function('f', function() local x = function() error('deep') end x() end)",
    "redis.register_function('f', function() return {type(_G), type(redis.call), type(string), type(cjson)} end)",
    "redis.register_function('f', function() return loadstring('return redis.call(\"ping\")')() end)",
    "redis.register_function('f', function() return redis.call('fcall', 'f', 0) end)",
    "redis.register_function('f', function() return redis.call('eval', 'return 1', 0) end)",
    "redis.register_function('f', function() return redis.call('function', 'list') end)",
    "redis.register_function('f', function() return redis.replicate_commands() end)",
    "redis.register_function('f', function() return redis.breakpoint() end)",
    "redis.register_function('f', function() redis.set_repl(redis.REPL_ALL) return redis.sha1hex('') end)",
    "redis.register_function('f', function() return {redis.REPL_ALL, redis.LOG_WARNING} end)",
    "redis.register_function('f', function() redis.setresp(3) return type(redis.call('get', '{t}none')) end)",
    "local x = redis.LOG_NOTICE redis.register_function('f', function() return x end)",
    "redis.register_function('f', function(keys, args) redis.call('set', keys[1], args[1]) return redis.call('get', keys[1]) end)",
    "redis.register_function('f', function(keys, args) redis.call('set', keys[1], args[1]) error('after it') end)",
    "redis.register_function{function_name='f', callback=function(keys) return redis.call('set', keys[1], 'b') end, flags={'no-writes'}}",
    "redis.register_function{function_name='f', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}",
];

/// Requests whose replies must be the same, one after the other, of a server with no library at first.
const REQUESTS: &[&[&str]] = &[
    &["FUNCTION"],
    &["FUNCTION", "nosuch"],
    &["FUNCTION", "LOAD"],
    &["FUNCTION", "LIST"],
    &["FUNCTION", "STATS"],
    &["FUNCTION", "KILL"],
    &["FCALL", "f", "0"],
    &["FCALL", "f", "x"],
    &["FCALL", "f"],
    &[
        "FUNCTION",
        "LOAD",
        "REPLACE",
        "#!lua name=a\nredis.register_function('f', function() return 1 end)",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "#!lua name=a\nredis.register_function('f', function() return 1 end)",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "#!lua name=A\nredis.register_function('F', function() return 1 end)",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "replace",
        "x",
        "#!lua name=a\nredis.register_function('f', function() end)",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "foo",
        "#!lua name=a\nredis.register_function('f', function() end)",
    ],
    &["FCALL", "F", "0"],
    &["FCALL", "f", "x"],
    &["FCALL", "f", "-1"],
    &["FCALL", "f", "2", "a"],
    &["FCALL_RO", "f", "0"],
    &["FCALL_RO", "nosuch", "0"],
    &["FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", "A*"],
    &["FUNCTION", "LIST", "libraryname", "nosuch"],
    &["FUNCTION", "LIST", "libraryname"],
    &["FUNCTION", "LIST", "foo"],
    &["FUNCTION", "LIST", "withcode", "withcode"],
    &["FUNCTION", "STATS"],
    &["FUNCTION", "DUMP"],
    &["FUNCTION", "RESTORE", "x"],
    &["FUNCTION", "RESTORE", "x", "y"],
    &["FUNCTION", "RESTORE", "x", "y", "z"],
    &["FUNCTION", "DELETE", "nosuch"],
    &["FUNCTION", "DELETE", "a"],
    &["FUNCTION", "DELETE", "a"],
    &["FUNCTION", "FLUSH", "x"],
    &["FUNCTION", "FLUSH", "x", "y"],
    &["FUNCTION", "FLUSH", "ASYNC"],
    &["FUNCTION", "DUMP"],
    &["COMMAND", "GETKEYS", "FCALL", "f", "2", "{t}a", "{t}b", "x"],
    &[
        "EVAL",
        "return redis.register_function('f', function() end)",
        "0",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "#!lua name=a\nredis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)",
    ],
    &["MULTI"],
    &["FCALL", "f", "1", "{t}n"],
    &["FCALL", "F", "1", "{t}n"],
    &["GET", "{t}n"],
    &["EXEC"],
];

struct Pair {
    theirs: Client,
    ours: Client,
    differences: Vec<String>,
}

impl Pair {
    fn call(&mut self, about: &str, request: &[&[u8]]) {
        let (reference, reply) = (self.theirs.call(request), self.ours.call(request));
        if reference != reply {
            let shown = brickyard_e2e::client::shown(request);
            self.differences.push(format!(
                "{about}{shown}\n  Redis: {reference}\n  ours:  {reply}"
            ));
        }
    }

    fn words(&mut self, about: &str, request: &[&str]) {
        let words: Vec<&[u8]> = request.iter().map(|it| it.as_bytes()).collect();
        self.call(about, &words);
    }

    fn both(&mut self, request: &[&str]) {
        self.theirs.must(request);
        self.ours.must(request);
    }
}

#[test]
fn functions_answer_as_redis_s_do() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "comparison of functions") else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(2).start());
    let mut pair = Pair {
        theirs: redis.connect(),
        ours: ours.connect(),
        differences: Vec::new(),
    };
    for protocol in ["2", "3"] {
        for client in [&mut pair.theirs, &mut pair.ours] {
            client.call(&["HELLO", protocol]);
        }
        pair.both(&["FLUSHALL"]);
        for text in LOADED {
            pair.both(&["FUNCTION", "FLUSH"]);
            pair.words("", &["FUNCTION", "LOAD", text]);
        }
        for text in LIBRARIES {
            pair.both(&["FUNCTION", "FLUSH"]);
            let library = format!("#!lua name=a\n{text}");
            pair.words("", &["FUNCTION", "LOAD", &library]);
            for call in ["FCALL", "FCALL_RO"] {
                pair.words(
                    &format!("{text}\n"),
                    &[call, "f", "2", "{t}a", "{t}b", "one", "2"],
                );
                pair.words(&format!("{text}\n"), &["GET", "{t}a"]);
            }
            pair.words(&format!("{text}\n"), &["FUNCTION", "LIST", "WITHCODE"]);
        }
        pair.both(&["FUNCTION", "FLUSH"]);
        for request in REQUESTS {
            pair.words("", request);
        }
    }
    let differences = pair.differences;
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn dumps_go_from_redis_to_us_and_back() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "dumps of functions") else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(2).start());
    let (mut theirs, mut ours) = (redis.connect(), ours.connect());
    // Long enough for Redis to compress it.
    let padding = "-- a remark that says the same again and again\n".repeat(200);
    let short = "#!lua name=short\nredis.register_function('one', function() return 1 end)";
    let long = format!(
        "#!lua name=long\n{padding}redis.register_function('two', function() return 2 end)"
    );
    for text in [short, &long] {
        theirs.call(&["FUNCTION", "LOAD", text]);
    }
    let dump = theirs.call(&["FUNCTION", "DUMP"]);
    let payload = dump.as_bytes().expect("a payload");
    ours.must(&[b"FUNCTION", b"RESTORE".as_slice(), payload]);
    for (name, expected) in [("one", 1), ("two", 2)] {
        assert_eq!(
            ours.call(&["FCALL", name, "0"]).as_integer(),
            Some(expected)
        );
    }
    let again = ours.call(&[b"FUNCTION", b"RESTORE".as_slice(), payload]);
    assert!(again.is_error_with("ERR Library"), "{again}");
    ours.must(&[b"FUNCTION", b"RESTORE".as_slice(), payload, b"REPLACE"]);
    let dump = ours.call(&["FUNCTION", "DUMP"]);
    let payload = dump.as_bytes().expect("a payload");
    for policy in ["FLUSH", "REPLACE"] {
        theirs.must(&[
            b"FUNCTION",
            b"RESTORE".as_slice(),
            payload,
            policy.as_bytes(),
        ]);
        ours.must(&[
            b"FUNCTION",
            b"RESTORE".as_slice(),
            payload,
            policy.as_bytes(),
        ]);
    }
    for client in [&mut theirs, &mut ours] {
        let listed = client.call(&["FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", "long"]);
        assert!(
            listed.to_string().contains("a remark that says"),
            "{listed}"
        );
        assert_eq!(client.call(&["FCALL", "two", "0"]).as_integer(), Some(2));
    }
}

/// A library that is too long, one that takes too long, and a payload whose few bytes stand for many.
#[test]
fn libraries_that_are_too_much_are_refused_in_words() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    let long = format!("#!lua name=a\n{}", " ".repeat(512 << 10));
    let refused = client.call(&["FUNCTION", "LOAD", &long]);
    assert!(refused.is_error_with("ERR library 'a' has"), "{refused}");
    let endless = client.call(&["FUNCTION", "LOAD", "#!lua name=a\nwhile true do end"]);
    assert!(
        endless.to_string().contains("FUNCTION LOAD timeout"),
        "{endless}"
    );
    let many = "#!lua name=a\nlocal function f() end for i = 1, 2e4 do redis.register_function('f' .. i, f) end";
    let refused = client.call(&["FUNCTION", "LOAD", many]);
    assert!(
        refused.is_error_with("ERR library 'a': it has"),
        "{refused}"
    );
    for number in 0.. {
        let text = format!(
            "#!lua name=l{number}\n--{}\nredis.register_function('f{number}', function() end)",
            "x".repeat(511 << 10)
        );
        let reply = client.call(&["FUNCTION", "LOAD", &text]);
        if reply.is_error() {
            assert!(
                reply.is_error_with("ERR libraries: all together"),
                "{reply}"
            );
            assert_eq!(number, 8);
            break;
        }
    }
    client.must(&["FUNCTION", "DELETE", "l0"]);
    assert!(client.call(&["FCALL", "f1", "0"]).is_null());
}

/// `FUNCTION KILL` from a connection of another brick; `SCRIPT KILL` is about scripts.
#[test]
fn a_function_can_be_killed() {
    let server = Setup::brickyard(2).start();
    let mut bricks = [server.connect_brick(0), server.connect_brick(1)];
    bricks[0].must(&["CONFIG", "SET", "lua-time-limit", "500"]);
    let text = "#!lua name=a\nredis.register_function('f', function() while true do end end)";
    bricks[0].call(&["FUNCTION", "LOAD", text]);
    let [runs, kills] = &mut bricks;
    // On a busy machine it may have ended by itself first.
    wait_for("a function that is killed", || {
        let reply = thread::scope(|scope| {
            let running = scope.spawn(|| runs.call(&["FCALL", "f", "0"]));
            while !running.is_finished() {
                let script = kills.call(&["SCRIPT", "KILL"]);
                assert!(script.is_error_with("NOTBUSY"), "{script}");
                kills.call(&["FUNCTION", "KILL"]);
            }
            running.join().expect("a reply")
        });
        let is_killed = reply
            .to_string()
            .contains("Script killed by user with FUNCTION KILL");
        is_killed.then_some(())
    });
    assert_eq!(runs.call(&["EVAL", "return 1", "0"]).as_integer(), Some(1));
}
