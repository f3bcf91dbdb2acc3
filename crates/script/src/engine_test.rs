//! What scripts may do and how they end.

use super::*;

/// Answers every command with what it was given, and remembers it.
#[derive(Default)]
struct Echo {
    called: Vec<Vec<String>>,
}

impl CommandHost for Echo {
    fn call(&mut self, args: &[&[u8]], protocol: Protocol) -> Option<Value> {
        let words: Vec<String> = args
            .iter()
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect();
        self.called.push(words.clone());
        Some(match words[0].as_str() {
            "GET" => Value::Bulk(words[1].clone().into_bytes()),
            "INCR" => Value::Integer(7),
            "SET" => Value::Simple(b"OK".to_vec()),
            "NULL" => Value::Null,
            "MGET" => Value::Array(vec![Value::Bulk(b"a".to_vec()), Value::Null]),
            "DOUBLE" if protocol == Protocol::Resp3 => Value::Double(1.5),
            "STOP" => return None,
            _ => Value::Error(format!("ERR no '{}'", words[0]).into_bytes()),
        })
    }

    fn may(&self, args: &[&[u8]]) -> Option<bool> {
        match args[0] {
            b"GET" => Some(true),
            b"FLUSHALL" => Some(false),
            _ => None,
        }
    }
}

const LIMITS: Allowance = Allowance {
    instructions_max: 1_000_000,
    time_max: None,
    memory_max: 8 << 20,
};

fn engine() -> Engine {
    Engine::new(LIMITS, Arc::default())
}

fn run(engine: &mut Engine, body: &str) -> ScriptEnd {
    run_within(engine, &LIMITS, body)
}

fn run_within(engine: &mut Engine, limits: &Allowance, body: &str) -> ScriptEnd {
    engine.allow(limits);
    let script = Script {
        body: body.as_bytes(),
        sha: &sha1_hex(body.as_bytes()),
        keys: &[b"k1", b"k2"],
        args: &[b"a1"],
        function: None,
    };
    engine.run(&script, &mut Echo::default())
}

fn reply(body: &str) -> Value {
    match run(&mut engine(), body) {
        ScriptEnd::Replied(value) => value,
        other => panic!("{body}: {other:?}"),
    }
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

fn error_of(body: &str) -> String {
    match reply(body) {
        Value::Error(line) => String::from_utf8_lossy(&line).into_owned(),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn what_a_script_returns_is_its_reply() {
    let all = Value::Array(vec![
        Value::Integer(3),
        bulk("k1"),
        bulk("a1"),
        Value::Integer(1),
        Value::Null,
        Value::Array(vec![]),
    ]);
    assert_eq!(
        reply("return {3.9, KEYS[1], ARGV[1], true, false, {}, nil, 5}"),
        all
    );
    assert_eq!(
        reply("return redis.status_reply('FINE')"),
        Value::Simple(b"FINE".to_vec())
    );
    assert_eq!(
        reply("return redis.error_reply('MINE x')"),
        Value::Error(b"MINE x".to_vec())
    );
    assert_eq!(
        reply("return redis.error_reply('x')"),
        Value::Error(b"ERR x".to_vec())
    );
    assert_eq!(reply("return"), Value::Null);
    assert_eq!(reply("return {double = 2.5}"), Value::Double(2.5));
}

#[test]
fn commands_get_words_and_their_replies_are_values() {
    assert_eq!(reply("return redis.call('GET', 12)"), bulk("12"));
    assert_eq!(
        reply("return redis.call('GET', 0.1)"),
        bulk("0.10000000000000001")
    );
    assert_eq!(
        reply("return redis.call('INCR', 'k') + 1"),
        Value::Integer(8)
    );
    assert_eq!(reply("return redis.call('SET', 'k', 'v').ok"), bulk("OK"));
    assert_eq!(reply("return type(redis.call('NULL'))"), bulk("boolean"));
    assert_eq!(
        reply("redis.setresp(3) return type(redis.call('NULL'))"),
        bulk("nil")
    );
    assert_eq!(reply("return redis.call('MGET')[1]"), bulk("a"));
    assert_eq!(
        reply("redis.setresp(3) return redis.call('DOUBLE').double * 2"),
        Value::Integer(3)
    );
    assert_eq!(reply("return redis.pcall('NO').err"), bulk("ERR no 'NO'"));
}

#[test]
fn errors_say_which_script_and_where() {
    let body = "local a = 1\nreturn redis.call('NO')";
    let sha = String::from_utf8_lossy(&sha1_hex(body.as_bytes())).into_owned();
    assert_eq!(
        error_of(body),
        format!("ERR no 'NO' script: {sha}, on @user_script:2.")
    );
    assert!(error_of("return nope").starts_with(
        "ERR user_script:1: Script attempted to access nonexistent global variable 'nope' script: "
    ));
    assert!(
        error_of("nope = 1").starts_with("ERR user_script:1: Attempt to modify a readonly table")
    );
    assert!(error_of("return cjson.decode('[')").starts_with("ERR user_script:1: "));
    assert!(error_of("return cjson.decode()").starts_with("ERR "));
    assert!(error_of("local found = ('a'):find('[')").contains("user_script:1: malformed pattern"));
    assert!(error_of("error('x')").starts_with("ERR user_script:1: x script: "));
    assert!(error_of("error({err = 'MINE x'})").starts_with("MINE x script: "));
    assert!(
        error_of("return (")
            .starts_with("ERR Error compiling script (new function): user_script:1:")
    );
    assert!(error_of("redis.call()").starts_with("ERR Please specify at least one argument"));
    assert!(error_of("redis.call({})").starts_with("ERR Lua redis lib command arguments must be"));
}

#[test]
fn nothing_of_a_script_is_left_for_the_next() {
    let mut engine = engine();
    for attempt in [
        "x = 1",
        "_G.x = 1",
        "rawset(_G, 'x', 1)",
        "string.x = 1",
        "rawset(string, 'x', 1)",
        "pairs = nil",
        "redis.call = nil",
        "setmetatable(_G, {})",
        "setmetatable(string, {})",
        "getmetatable('').__index = {}",
        "getmetatable(_G).__index = {}",
        "loadstring('x = 1')()",
        "math.random = nil",
        "cjson.null = 1",
        "KEYS = 1 x = 1",
    ] {
        let ScriptEnd::Replied(Value::Error(_)) = run(&mut engine, attempt) else {
            panic!("{attempt}");
        };
    }
    let check = "return {KEYS[1], type(pairs), type(redis.call), type(math.random), ('a'):upper()}";
    let kept = ["k1", "function", "function", "function", "A"]
        .map(bulk)
        .to_vec();
    assert_eq!(
        run(&mut engine, check),
        ScriptEnd::Replied(Value::Array(kept))
    );
    for gone in [
        "io",
        "os",
        "debug",
        "require",
        "dofile",
        "loadfile",
        "newproxy",
        "coroutine",
        "getfenv",
        "print",
    ] {
        let body = format!("return type({gone})");
        assert!(
            error_of(&body).contains("nonexistent global variable"),
            "{gone}"
        );
    }
    assert!(error_of("return string.dump(function() end)").contains("attempt to call"));
    assert_eq!(
        reply("return {loadstring('\\27Lua')}"),
        Value::Array(vec![])
    );
    let twice = "return {math.random(100), math.random(100)}";
    assert_eq!(run(&mut engine, twice), run(&mut engine, twice));
}

/// As Redis says it, whatever is tried.
#[test]
fn what_is_shared_is_said_to_be_read_only() {
    for attempt in [
        "setmetatable(_G, {})",
        "setmetatable(redis, nil)",
        "getmetatable(_G).__index = {}",
        "getmetatable('').__index = {}",
        "rawset(getmetatable(_G), '__index', {})",
        "setmetatable(getmetatable(_G), {})",
        "redis.call = nil",
        "_G = {}",
    ] {
        let error = error_of(attempt);
        assert!(
            error.contains("Attempt to modify a readonly table"),
            "{attempt}: {error}"
        );
    }
    assert_eq!(reply("return #setmetatable({1, 2}, {})"), Value::Integer(2));
}

/// Lua's own function overflows, and would take the whole process with it.
#[test]
fn what_unpack_may_leave_is_bounded() {
    for range in [
        "-2, 2147483647",
        "0, 2147483647",
        "-2147483648, -2",
        "-2147483648, 2147483647",
        "1, 1e300",
        "-1e300, 1",
        "0/0, 1",
        "1, 0/0",
        "1, 8001",
        "'1', '2147483647'",
    ] {
        let error = error_of(&format!("return {{unpack({{1, 2, 3}}, {range})}}"));
        assert!(
            error.contains("too many results to unpack"),
            "{range}: {error}"
        );
    }
    let numbers =
        |numbers: &[i64]| Value::Array(numbers.iter().copied().map(Value::Integer).collect());
    for (range, left) in [
        ("", &[1, 2, 3][..]),
        (", 2", &[2, 3]),
        (", 2, 2", &[2]),
        (", '2', '3'", &[2, 3]),
        (", nil, 2", &[1, 2]),
        (", 3, 1", &[]),
        (", 2147483647, -2147483648", &[]),
    ] {
        let body = format!("return {{unpack({{1, 2, 3}}{range})}}");
        assert_eq!(reply(&body), numbers(left), "{range}");
    }
    assert_eq!(
        reply("return select('#', unpack({}, 1, 7000))"),
        Value::Integer(7000)
    );
    assert!(error_of("return unpack(1)").contains("table expected"));
    // Two thousand million places would move.
    let error = error_of("local t = {} table.insert(t, -2147483648, 1)");
    assert!(error.contains("position out of bounds"), "{error}");
    assert_eq!(
        reply("local t = {1} table.insert(t, 1, 2) return t[1] * 10 + t[2]"),
        Value::Integer(21)
    );
    assert!(error_of("return unpack({}, 'x')").contains("number expected"));
}

#[test]
fn a_script_ends_within_its_bounds() {
    let mut engine = engine();
    for endless in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "local function f() return pcall(f) end while true do f() end",
        "return ('a'):rep(60):find(('a-'):rep(60) .. 'b')",
        "return pcall(string.gsub, ('a'):rep(60), ('a*'):rep(60) .. 'b', '')",
        "return ('a'):rep(1e5):gsub('.', function() while true do end end)",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local s = 'x' while true do s = s .. s end",
        "return ('x'):rep(1e9)",
        "while true do pcall(string.rep, 'x', 1e9) end",
        "local t = {} for i = 1, 60 do t = {t, t} end return t",
        "local t = {} for i = 1, 60 do t = {t, t} end return cjson.encode(t)",
        "local t = {} for i = 1, 12 do t = {t, t, t, t, t, t, t, t} end return cmsgpack.pack(t)",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return t",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return cjson.encode(t)",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return cmsgpack.pack(unpack(t))",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return struct.pack(('s'):rep(1000), unpack(t))",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return redis.call('MGET', unpack(t))",
        "local t = {} for i = 1, 1e4 do t[i] = i end while true do table.insert(t, 1, 0) end",
        "local s = ('x'):rep(1e6) while true do s = s:upper() end",
    ] {
        match run(&mut engine, endless) {
            ScriptEnd::Ended(Value::Error(line)) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                assert!(
                    line.contains("nothing of it was executed"),
                    "{endless}: {line}"
                );
            }
            // What does not fit into memory is an error that a script may catch.
            ScriptEnd::Replied(Value::Error(line)) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                assert!(line.contains("not enough memory"), "{endless}: {line}");
            }
            other => panic!("{endless}: {other:?}"),
        }
        assert_eq!(
            run(&mut engine, "return 1"),
            ScriptEnd::Replied(Value::Integer(1)),
            "{endless}"
        );
    }
    let late = Allowance {
        time_max: Some(Duration::from_millis(5)),
        instructions_max: u64::MAX,
        ..LIMITS
    };
    let ended = run_within(
        &mut engine,
        &late,
        "while true do local s = ('x'):rep(1e6) end",
    );
    assert!(matches!(ended, ScriptEnd::Ended(_)), "{ended:?}");
}

#[test]
fn what_a_script_has_left_is_not_lacking_for_the_next() {
    let mut engine = engine();
    let large = "local t = {} for i = 1, 4e4 do t[i] = 'text ' .. i end return #t";
    for time in 0..20 {
        assert_eq!(
            run(&mut engine, large),
            ScriptEnd::Replied(Value::Integer(40_000)),
            "the {time}th"
        );
        // Each is another text, which is kept compiled.
        let longer = format!("local x = '{}' return {time}", "y".repeat(200_000));
        assert_eq!(
            run(&mut engine, &longer),
            ScriptEnd::Replied(Value::Integer(time))
        );
    }
    let too_long = run(&mut engine, &" ".repeat(TEXT_BYTES_MAX + 1));
    assert!(matches!(too_long, ScriptEnd::Replied(Value::Error(_))));
}

#[test]
fn tables_are_sorted_as_lua_sorts_them() {
    let sorted = "local t = {} for i = 1, 1000 do t[i] = (i * 7919) % 1009 end table.sort(t) \
                  for i = 2, 1000 do if t[i - 1] > t[i] then return i end end return 'sorted'";
    assert_eq!(reply(sorted), bulk("sorted"));
    let down = "local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t, ',')";
    assert_eq!(reply(down), bulk("3,2,1"));
    assert_eq!(
        reply("local t = {'b', 'a'} table.sort(t) return t[1]"),
        bulk("a")
    );
    assert!(error_of("table.sort({1, 'a'})").starts_with("ERR attempt to compare"));
    assert!(
        error_of("table.sort(1)")
            .contains("bad argument #1 to 'sort' (table expected, got number)")
    );
    assert_eq!(
        reply("return ('ab'):rep(3) .. ('x'):rep(0) .. #('x'):rep(5000)"),
        bulk("ababab5000")
    );
}

#[test]
fn a_host_ends_a_script_that_would_catch_it() {
    let mut engine = engine();
    for body in [
        "redis.call('STOP') return 1",
        "redis.pcall('STOP') return 1",
        "pcall(redis.call, 'STOP') return 1",
        "('a'):gsub('a', function() redis.pcall('STOP') end) return 1",
    ] {
        assert_eq!(run(&mut engine, body), ScriptEnd::Stopped, "{body}");
        assert_eq!(
            run(&mut engine, "return 1"),
            ScriptEnd::Replied(Value::Integer(1))
        );
    }
}

#[test]
fn helpers_pack_and_unpack() {
    for (body, expected) in [
        (
            "return cjson.encode({1, 'a/b', true, cjson.null, {x = 1.5}})",
            r#"[1,"a\/b",true,null,{"x":1.5}]"#,
        ),
        ("return cjson.encode({})", "{}"),
        (
            "return cjson.encode(cjson.decode('{\"a\":[1,2,{\"b\":null}]}'))",
            r#"{"a":[1,2,{"b":null}]}"#,
        ),
        ("return cjson.encode(1e15)", "1e+15"),
        ("return tostring(cjson.decode('\"\\\\u00e9\"'))", "é"),
        ("return bit.tohex(bit.bor(0xf0, 0x0f))", "000000ff"),
        (
            "return bit.tohex(bit.lshift(1, 31), -8)",
            "80000000".to_uppercase().leak(),
        ),
        ("return tostring(bit.bnot(0))", "-1"),
        ("return struct.pack('>I2', 258)", "\u{1}\u{2}"),
        (
            "local a, b, c = struct.unpack('>hB', struct.pack('>hB', -2, 255)) return a .. ',' .. b .. ',' .. c",
            "-2,255,4",
        ),
        ("return tostring(struct.size('!4bi'))", "8"),
        (
            "local t = cmsgpack.unpack(cmsgpack.pack({a = {1, 2.5, 'x', false}})) return cjson.encode(t)",
            r#"{"a":[1,2.5,"x",false]}"#,
        ),
        (
            "return redis.sha1hex('')",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ),
    ] {
        assert_eq!(reply(body), bulk(expected), "{body}");
    }
}

#[test]
fn script_asks_what_it_may() {
    assert_eq!(
        reply("return redis.acl_check_cmd('GET', 'k')"),
        Value::Integer(1)
    );
    assert_eq!(reply("return redis.acl_check_cmd('FLUSHALL')"), Value::Null);
    for body in [
        "return redis.acl_check_cmd('INVALID', 'k')",
        "local ok, error = pcall(redis.acl_check_cmd, 'INVALID') return redis.error_reply(error)",
    ] {
        let error = error_of(body);
        assert!(
            error.starts_with("ERR Invalid command passed to redis.acl_check_cmd()"),
            "{error}"
        );
    }
    assert!(error_of("return redis.acl_check_cmd()").starts_with("ERR Please specify"));
}

#[test]
fn what_a_script_sets_of_json_ends_with_it() {
    let mut engine = engine();
    let mut shown = |body: &str| match run(&mut engine, body) {
        ScriptEnd::Replied(Value::Bulk(text)) => String::from_utf8_lossy(&text).into_owned(),
        ScriptEnd::Replied(Value::Error(line)) => String::from_utf8_lossy(&line).into_owned(),
        other => panic!("{body}: {other:?}"),
    };
    let deep = "cjson.encode({{1}})";
    let number = "cjson.encode({0/0, 1/0, -1/0})";
    for (set, body, expected) in [
        ("cjson.encode_max_depth(2)", deep, "[[1]]"),
        (
            "cjson.encode_invalid_numbers(true)",
            number,
            "[nan,inf,-inf]",
        ),
        (
            "cjson.encode_invalid_numbers('null')",
            number,
            "[null,null,null]",
        ),
        ("cjson.encode_keep_buffer(false)", deep, "[[1]]"),
    ] {
        assert_eq!(shown(&format!("{set} return {body}")), expected, "{set}");
    }
    let refused = "Cannot serialise number: must not be NaN or Inf";
    assert!(shown(&format!("return {number}")).contains(refused));
    let refused = "Cannot serialise, excessive depth (2)";
    let text = shown(&format!("cjson.encode_max_depth(1) return {deep}"));
    assert!(text.contains(refused), "{text}");
    assert_eq!(shown(&format!("return {deep}")), "[[1]]");
    let text = shown("cjson.decode_max_depth(1) return cjson.decode('[[1]]')[1][1]");
    assert!(
        text.contains("Found too many nested data structures (2)"),
        "{text}"
    );
    assert_eq!(shown("return tostring(cjson.decode('[[1]]')[1][1])"), "1");
    let told = "return cjson.encode_max_depth() .. tostring(cjson.encode_keep_buffer())";
    assert_eq!(shown(told), "1000true");
    for wrong in [
        "cjson.encode_max_depth(0)",
        "cjson.encode_invalid_numbers('x')",
    ] {
        let text = shown(wrong);
        assert!(
            text.contains("expected") && text.starts_with("ERR "),
            "{text}"
        );
    }
}
