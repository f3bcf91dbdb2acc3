//! Scripts: the same ones to a real Redis and to us, and what becomes of those that take too much.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::{ServerKind, Setup};
use brickyard_e2e::value::Value;
use std::thread;

/// Scripts whose reply must be the same bytes, each with `{t}a` and `{t}b` for keys and `one` and `2` for arguments.
const SAME: &[&str] = &[
    // What becomes of what is returned.
    "return",
    "return nil",
    "return 1",
    "return 3.99",
    "return -3.99",
    "return '3.99'",
    "return true",
    "return false",
    "return {}",
    "return {1, 2, {3, {4, 'five'}}, true, false, 6}",
    "return {1, nil, 3}",
    "return {ok = 'fine'}",
    "return {err = 'MINE text'}",
    "return {err = 'without a code'}",
    "return {double = 1.5}",
    "return {map = {a = 1}}",
    "return {set = {a = true}}",
    "return {big_number = '12345678901234567890'}",
    "return {verbatim_string = {format = 'txt', string = 'hello'}}",
    "return function() end",
    "return {ok = 'two\r\nlines'}",
    "return {KEYS, ARGV, #KEYS, #ARGV}",
    // Commands.
    "return redis.call('set', KEYS[1], ARGV[1])",
    "return redis.call('get', KEYS[1])",
    "return redis.call('GET', KEYS[2])",
    "return redis.call('set', KEYS[2], 10)",
    "return redis.call('incrby', KEYS[2], ARGV[2])",
    "return redis.call('incrbyfloat', KEYS[2], 0.1)",
    "return redis.call('set', KEYS[2], 0.1)",
    "return redis.call('get', KEYS[2])",
    "return redis.call('set', KEYS[2], 3)",
    "return redis.call('set', KEYS[2], 1e20)",
    "return redis.call('get', KEYS[2])",
    "return redis.call('mget', KEYS[1], KEYS[2], '{t}none')",
    "return redis.call('exists', KEYS[1]) + 1",
    "return type(redis.call('get', '{t}none'))",
    "redis.setresp(3) return type(redis.call('get', '{t}none'))",
    "return redis.call('set', KEYS[1], 'x', 'nx')",
    "return redis.call('set', KEYS[1], 'y', 'get')",
    "return redis.call('ping')",
    "return redis.call('ping', 'x')",
    "return redis.call('echo', 'x')",
    "return #redis.call('time')",
    "return redis.call('set', KEYS[1], 'v').ok",
    "redis.call('set', KEYS[1], 'text') return redis.call('incr', KEYS[1])",
    "return redis.pcall('incr', KEYS[1])",
    "return redis.pcall('incr', KEYS[1]).err",
    "return {redis.pcall('incr', KEYS[1]), 1}",
    "local ok, e = pcall(redis.call, 'incr', KEYS[1]) return {ok, e}",
    "local ok, e = pcall(redis.call, 'incr', KEYS[1]) return type(e)",
    "return redis.call()",
    "return redis.call({})",
    "return redis.call('get', {})",
    "return redis.call('get')",
    "return redis.call('nosuch')",
    "return redis.pcall('nosuch')",
    "return redis.call('multi')",
    "return redis.call('auth', 'x')",
    "return redis.call('eval', 'return 1', 0)",
    "return redis.call('object', 'nosuch', 'x')",
    "return redis.call('setex', KEYS[1], 'x', 'y')",
    "return redis.call('setex', KEYS[1], 100, 'y')",
    "return redis.call('ttl', KEYS[1])",
    "return redis.call('setbit', KEYS[1], 7, 1)",
    "return redis.call('bitcount', KEYS[1])",
    "return redis.call('append', KEYS[1], ARGV[1])",
    "return redis.call('strlen', KEYS[1])",
    "return redis.call('del', KEYS[1], KEYS[2])",
    // Errors, and where they are.
    "error('mine')",
    "error('mine', 0)",
    "error({err = 'MINE text'})",
    "error()",
    "local a = 1\nlocal b = nosuch\nreturn 1",
    "nosuch = 1",
    "local t = nil\nreturn t.x",
    "return 1 + {}",
    "return ('x')()",
    "return nosuch()",
    "return redis.nosuch()",
    "return (",
    "return return",
    "x y z",
    "local function f() error('deep') end f()",
    "return {pcall(error, 'x')}",
    "return {pcall(function() error('x') end)}",
    "return {xpcall(function() error('x') end, function(e) return 'seen ' .. e end)}",
    "return select(2, pcall(function() local x = nil; return x.y end))",
    "return tostring(nil) .. tostring(true) .. tostring(1.5)",
    "assert(false, 'why')",
    "return assert(1)",
    "assert(false)",
    // The sandbox.
    "return type(_G)",
    "return type(print)",
    "return type(os)",
    "return type(io)",
    "return type(require)",
    "return type(dofile)",
    "return type(loadstring)",
    "return loadstring('return 7')()",
    "return type(math.random())",
    "string.x = 1",
    "redis.x = 1",
    "KEYS[3] = 'x' return #KEYS",
    "return _VERSION",
    "return collectgarbage('count') > 0",
    // Lua's libraries.
    "return string.format('%5.2f|%d|%s|%q|%x|%-5s|', 3.14159, 42, 'x', 'a\"b', 255, 'l')",
    "return {('hello'):find('l'), ('hello'):match('h(.)l'), ('hello'):gsub('l', 'L')}",
    "local r = {} for w in ('one two three'):gmatch('%a+') do r[#r + 1] = w end return r",
    "return {('x'):rep(3), ('abc'):reverse(), ('abc'):upper(), #'abc', ('abc'):byte(1, -1)}",
    "return {('%d'):format(3), string.char(65, 66), ('a,b,c'):find(',', 3, true)}",
    "local t = {3, 1, 2} table.sort(t) return t",
    "local t = {1, 2, 3} table.insert(t, 4) table.remove(t, 1) return {#t, table.concat(t, ',')}",
    "return {math.floor(3.7), math.ceil(3.2), math.max(1, 5), math.abs(-2), math.fmod(7, 3)}",
    "return {tonumber('0x10'), tonumber('10', 2), tonumber('x'), tonumber(' 5 ')}",
    "return {unpack({1, 2, 3})}",
    "return {select('#', 1, nil, 3), select(2, 'a', 'b', 'c')}",
    "return {next({}), rawequal('a', 'a'), rawget({x = 1}, 'x')}",
    // redis.*
    "return redis.sha1hex('')",
    "return redis.sha1hex('abc')",
    "return redis.sha1hex()",
    "return redis.error_reply('text')",
    "return redis.error_reply('MINE text')",
    "return redis.error_reply('-MINE text')",
    "return redis.status_reply('FINE')",
    "return redis.status_reply(1)",
    "return redis.error_reply({})",
    "return redis.log(redis.LOG_DEBUG, 'x')",
    "return redis.log('x')",
    "return redis.log(9, 'x')",
    "return {redis.LOG_DEBUG, redis.LOG_WARNING, redis.REPL_ALL, redis.REPL_NONE}",
    "return redis.replicate_commands()",
    "return redis.setresp(4)",
    "return redis.setresp()",
    "return redis.breakpoint()",
    // cjson, cmsgpack, bit, struct.
    "return cjson.encode({1, 2, 'x', true, cjson.null})",
    "return cjson.encode({a = 1})",
    "return cjson.encode({})",
    "return cjson.encode(1.5)",
    "return cjson.encode('a/b\"c\\n\\0\\127')",
    "return cjson.encode(1e100)",
    "return cjson.encode(12345678901234567890)",
    "return cjson.encode(0.1)",
    "return cjson.encode({[1] = 1, [3] = 3})",
    "return cjson.encode({[1] = 1, [1000] = 3})",
    "return cjson.encode(function() end)",
    "return cjson.decode('{\"a\": [1, 2.5, \"x\", null, true]}').a[2] * 2",
    "return cjson.decode('[1, 2, 3]')",
    "return cjson.decode('\"\\\\u00fc\\\\ud83d\\\\ude00\"')",
    "return type(cjson.decode('null'))",
    "return cjson.decode('null') == cjson.null",
    "return cmsgpack.pack({1, 2, 3})",
    "return cmsgpack.pack({a = 'x'})",
    "return cmsgpack.pack(1.5, -1, 300, 70000, 'x', true, false, nil)",
    "return cmsgpack.pack(1e300)",
    "return cmsgpack.pack(('x'):rep(300))",
    "return cmsgpack.pack()",
    "return {cmsgpack.unpack(cmsgpack.pack(1, 'a', {b = 2}, {1, 2}))}",
    "return cmsgpack.unpack('\\xc1')",
    "return cmsgpack.unpack('\\x93\\x01')",
    "return {cmsgpack.unpack_one(cmsgpack.pack(1, 2))}",
    "return {cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 2)}",
    "return {bit.band(7, 5), bit.bor(1, 8), bit.bxor(3, 1), bit.bnot(0), bit.lshift(1, 31), bit.rshift(-1, 1)}",
    "return {bit.tohex(255), bit.tohex(255, 4), bit.tohex(255, -4), bit.bswap(1), bit.rol(1, 33), bit.arshift(-8, 1)}",
    "return bit.tobit(2^32 + 5)",
    "return struct.pack('>I4', 258)",
    "return struct.pack('<i2>i2b', 1, 1, -1)",
    "return struct.pack('sc3', 'ab', 'xyz')",
    "return {struct.unpack('>I2s', struct.pack('>I2s', 7, 'text'))}",
    "return struct.size('>I4i2b')",
    "return struct.pack('z', 1)",
    "return {struct.unpack('>I4', 'ab')}",
    "return struct.pack('>d', 1.5)",
    // What people run: the end of a lock, a limit of a rate, compare and set.
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
    "local n = redis.call('incr', KEYS[2]) if n == 1 then redis.call('pexpire', KEYS[2], 60000) end return n",
    "local n = redis.call('incr', KEYS[2]) if n == 1 then redis.call('pexpire', KEYS[2], 60000) end return n",
    "local v = redis.call('get', KEYS[1]) if not v then redis.call('set', KEYS[1], ARGV[1]) return 1 end return 0",
    "#!lua\nreturn 1",
    "#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])",
    "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], 1)",
    "#!lua flags=nosuch\nreturn 1",
    "#!python\nreturn 1",
    "#!lua",
];

/// Requests whose replies must be the same, one after the other.
const REQUESTS: &[&[&str]] = &[
    &["EVAL", "return 1"],
    &["EVAL", "return 1", "x"],
    &["EVAL", "return 1", "-1"],
    &["EVAL", "return 1", "2", "{t}a"],
    &["EVAL", "return KEYS[1]", "1", "{t}a", "x"],
    &["EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"],
    &["SCRIPT", "LOAD", "return 1"],
    &["EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"],
    &["EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"],
    &[
        "EVALSHA_RO",
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
        "0",
    ],
    &["EVALSHA", "short", "0"],
    &[
        "SCRIPT",
        "EXISTS",
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
        "nosuch",
    ],
    &["SCRIPT", "LOAD", "return ("],
    &["SCRIPT", "FLUSH", "now"],
    &["SCRIPT", "FLUSH", "SYNC"],
    &[
        "SCRIPT",
        "EXISTS",
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
    ],
    &["SCRIPT", "KILL"],
    &["SCRIPT", "nosuch"],
    &["SCRIPT"],
    &[
        "EVAL_RO",
        "return redis.call('set', KEYS[1], 1)",
        "1",
        "{t}a",
    ],
    &["EVAL_RO", "return redis.call('get', KEYS[1])", "1", "{t}a"],
    &[
        "COMMAND", "GETKEYS", "EVAL", "return 1", "2", "{t}a", "{t}b", "x",
    ],
    &["COMMAND", "GETKEYS", "EVAL", "return 1", "0"],
    &["MULTI"],
    &["EVAL", "return redis.call('incr', KEYS[1])", "1", "{t}n"],
    &["EVAL", "return redis.call('incr', KEYS[1])", "1", "{t}n"],
    &["GET", "{t}n"],
    &["EXEC"],
];

fn eval(client: &mut Client, script: &str) -> Value {
    client.call(&["EVAL", script, "2", "{t}a", "{t}b", "one", "2"])
}

/// The same scripts to both, at the node port beside a standalone Redis and at a brick's beside a cluster's node, in both protocols.
#[test]
fn scripts_answer_as_redis_s_do() {
    for (kind, what) in [
        (ServerKind::Redis, "comparison of scripts"),
        (
            ServerKind::RedisCluster,
            "comparison of scripts in a cluster",
        ),
    ] {
        let Some(redis) = Setup::redis(kind, what) else {
            return;
        };
        let (redis, ours) = (redis.start(), Setup::brickyard(2).start());
        let mut differences = Vec::new();
        for protocol in ["2", "3"] {
            let mut theirs = redis.connect();
            let mut ours = match kind {
                ServerKind::RedisCluster => {
                    let key = ours.connect().call(&["CLUSTER", "KEYSLOT", "{t}a"]);
                    let slot = key.as_integer().expect("a slot");
                    ours.connect_brick(u16::from(slot >= 8_192))
                }
                _ => ours.connect(),
            };
            for client in [&mut theirs, &mut ours] {
                client.call(&["HELLO", protocol]);
                client.must(&["FLUSHALL"]);
            }
            for script in SAME {
                let (reference, reply) = (eval(&mut theirs, script), eval(&mut ours, script));
                if reference != reply {
                    differences.push(format!("{script}\n  Redis: {reference}\n  ours:  {reply}"));
                }
            }
            for request in REQUESTS {
                let (reference, reply) = (theirs.call(request), ours.call(request));
                if reference != reply {
                    differences.push(format!(
                        "{request:?}\n  Redis: {reference}\n  ours:  {reply}"
                    ));
                }
            }
        }
        assert!(
            differences.is_empty(),
            "{what}: {} differences\n{}",
            differences.len(),
            differences.join("\n")
        );
    }
}

/// Scripts that never end, take all memory or nest without end; meanwhile and afterwards others are served.
#[test]
fn scripts_that_take_too_much_are_ended_and_do_nothing() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["SET", "{t}a", "before"]);
    for script in [
        "redis.call('set', KEYS[1], 'x') while true do end",
        "redis.call('set', KEYS[1], 'x') while true do pcall(error) end",
        "redis.call('set', KEYS[1], 'x') while true do redis.pcall('get', KEYS[1]) end",
        "redis.call('set', KEYS[1], 'x') local s = 'x' while true do s = s .. s end",
        "redis.call('set', KEYS[1], 'x') local t = {} while true do t[#t + 1] = {} end",
        "redis.call('set', KEYS[1], 'x') return ('a'):rep(100):find(('a-'):rep(100) .. 'b')",
    ] {
        let reply = eval(&mut client, script);
        assert!(reply.is_error(), "{script}: {reply}");
        // Of a script that ran out of memory Redis keeps what it wrote, as of any that has failed by itself.
        let is_failed = reply.to_string().contains("not enough memory");
        let value = client.call(&["GET", "{t}a"]).text();
        assert!(is_failed || value == "before", "{script}: {reply}, {value}");
        client.must(&["SET", "{t}a", "before"]);
    }
    let nested = eval(
        &mut client,
        "local function f() return 1 + f() end return f()",
    );
    assert!(nested.is_error(), "{nested}");
    assert_eq!(eval(&mut client, "return 1").as_integer(), Some(1));
}

/// `SCRIPT KILL` from a connection of another brick.
#[test]
fn a_script_can_be_killed() {
    let server = Setup::brickyard(2).start();
    let mut bricks = [server.connect_brick(0), server.connect_brick(1)];
    // As long as one can be allowed to take.
    bricks[0].must(&["CONFIG", "SET", "lua-time-limit", "500"]);
    let refused = bricks[0].call(&["CONFIG", "SET", "busy-reply-threshold", "5000"]);
    assert!(refused.is_error(), "{refused}");
    let [runs, kills] = &mut bricks;
    // On a busy machine it may have ended by itself first.
    wait_for("a script that is killed", || {
        let reply = thread::scope(|scope| {
            let running = scope.spawn(|| runs.call(&["EVAL", "while true do end", "0"]));
            while !running.is_finished() {
                kills.call(&["SCRIPT", "KILL"]);
            }
            running.join().expect("a reply")
        });
        let is_killed = reply.to_string().contains("Script killed by user");
        is_killed.then_some(())
    });
    assert_eq!(runs.call(&["EVAL", "return 1", "0"]).as_integer(), Some(1));
}
