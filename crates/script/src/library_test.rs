//! Libraries of functions: their first line, what they register, and what their functions see.

use super::*;
use crate::{Allowance, CommandHost, Engine, Script, ScriptEnd, sha1_hex};
use brickyard_wire::{Protocol, Value};
use std::sync::Arc;

struct Pong;

impl CommandHost for Pong {
    fn call(&mut self, args: &[&[u8]], _: Protocol) -> Option<Value> {
        match args[0] {
            b"PING" => Some(Value::Simple(b"PONG".to_vec())),
            b"STOP" => None,
            _ => Some(Value::Error(b"ERR no".to_vec())),
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

fn with_line(text: &str) -> String {
    format!("#!lua name=lib\n{text}")
}

fn load(text: &str) -> Vec<RegisteredFunction> {
    let text = with_line(text);
    let loaded = engine().load(text.as_bytes());
    loaded.unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn refused(text: &str) -> String {
    match engine().load(with_line(text).as_bytes()) {
        Err(Value::Error(line)) => String::from_utf8_lossy(&line).into_owned(),
        other => panic!("{text}: {other:?}"),
    }
}

fn call_in(engine: &mut Engine, text: &str, function: &str) -> ScriptEnd {
    let text = with_line(text);
    engine.allow(&LIMITS);
    let script = Script {
        body: text.as_bytes(),
        sha: &sha1_hex(text.as_bytes()),
        keys: &[b"k1", b"k2"],
        args: &[b"a1"],
        function: Some(function),
    };
    engine.run(&script, &mut Pong)
}

fn call(text: &str) -> Value {
    match call_in(&mut engine(), text, "f") {
        ScriptEnd::Replied(value) => value,
        other => panic!("{text}: {other:?}"),
    }
}

fn error_of(text: &str) -> String {
    match call(text) {
        Value::Error(line) => String::from_utf8_lossy(&line).into_owned(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn library_says_its_name_in_its_first_line() {
    for (body, name) in [
        ("#!lua name=a\n", "a"),
        ("#!LUA NAME=Ab_1\r\nreturn", "Ab_1"),
        ("#!lua   name=\"a\"  \n", "a"),
    ] {
        assert_eq!(library_name(body.as_bytes()), Ok(name.to_owned()), "{body}");
    }
    for (body, error) in [
        ("return 1", "ERR Missing library metadata"),
        ("", "ERR Missing library metadata"),
        ("#!lua name=a", "ERR Invalid library metadata"),
        ("#!lua name='a\n", "ERR Invalid library metadata"),
        ("#!lua\n", "ERR Library name was not given"),
        ("#!\n", "ERR Library name was not given"),
        ("#! lua name=a\n", "ERR Invalid metadata value given: lua"),
        ("#!lua x=1\n", "ERR Invalid metadata value given: x=1"),
        ("#!js name=a\n", "ERR Engine 'js' not found"),
        (
            "#!lua name=a name=b\n",
            "ERR Invalid metadata value, name argument was given multiple times",
        ),
        (
            "#!lua name=a-b\n",
            "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        ),
    ] {
        assert_eq!(
            library_name(body.as_bytes()),
            Err(error.to_owned()),
            "{body}"
        );
    }
}

#[test]
fn library_registers_functions_in_either_form() {
    let loaded = load(
        "local function f() end \
         redis.register_function('plain', f) \
         redis.register_function{FUNCTION_NAME = 'named', callback = f, description = 'what', \
         flags = {'allow-oom', 'no-writes', 'allow-oom'}} \
         redis.register_function(7, f)",
    );
    let function = |name: &str, description: Option<&str>, flags| RegisteredFunction {
        name: name.to_owned(),
        description: description.map(|it| it.as_bytes().to_vec()),
        flags,
    };
    let expected = [
        function("plain", None, 0),
        function("named", Some("what"), 0b11),
        function("7", None, 0),
    ];
    assert_eq!(loaded, expected);
}

#[test]
fn what_cannot_be_registered_is_refused_in_rediss_words() {
    for (text, error) in [
        ("return 1", "ERR No functions registered"),
        (
            "x y",
            "ERR Error compiling function: user_function:2: '=' expected near 'y'",
        ),
    ] {
        assert_eq!(refused(text), error, "{text}");
    }
    for (text, error) in [
        (
            "redis.register_function()",
            "wrong number of arguments to redis.register_function",
        ),
        (
            "redis.register_function('f', 1, 2)",
            "wrong number of arguments to redis.register_function",
        ),
        (
            "redis.register_function('f')",
            "calling redis.register_function with a single argument is only applicable to Lua table \
             (representing named arguments).",
        ),
        (
            "redis.register_function({}, 1)",
            "first argument to redis.register_function must be a string",
        ),
        (
            "redis.register_function('f', 1)",
            "second argument to redis.register_function must be a function",
        ),
        (
            "redis.register_function{callback = 1}",
            "callback argument given to redis.register_function must be a function",
        ),
        (
            "redis.register_function{function_name = 'f'}",
            "redis.register_function must get a callback argument",
        ),
        (
            "redis.register_function{callback = function() end}",
            "redis.register_function must get a function name argument",
        ),
        (
            "redis.register_function{other = 1}",
            "unknown argument given to redis.register_function",
        ),
        (
            "redis.register_function{flags = 1}",
            "flags argument to redis.register_function must be a table representing function flags",
        ),
        (
            "redis.register_function{flags = {'x'}}",
            "unknown flag given",
        ),
        (
            "redis.register_function{flags = {{}}}",
            "unknown flag given",
        ),
        (
            "redis.register_function('a-b', function() end)",
            "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        ),
        (
            "local function f() end redis.register_function('f', f) redis.register_function('F', f)",
            "Function already exists in the library",
        ),
        (
            "x = 1",
            "user_function:2: Attempt to modify a readonly table",
        ),
        (
            "redis.x = 1",
            "user_function:2: Attempt to modify a readonly table",
        ),
        ("while true do end", "FUNCTION LOAD timeout"),
    ] {
        assert_eq!(
            refused(text),
            format!("ERR Error registering functions: ERR {error}"),
            "{text}"
        );
    }
}

#[test]
fn library_that_is_loaded_sees_what_registers_and_nothing_else() {
    for name in ["call", "pcall", "sha1hex", "setresp", "REPL_ALL"] {
        let error = refused(&format!("local x = redis.{name}"));
        let expected = format!(
            "user_function:2: Script attempted to access nonexistent global variable '{name}'"
        );
        assert!(error.ends_with(&expected), "{error}");
    }
    for name in [
        "tostring",
        "string",
        "cjson",
        "_G",
        "KEYS",
        "loadstring",
        "setmetatable",
    ] {
        let error = refused(&format!("local x = {name}"));
        assert!(
            error.ends_with(&format!("nonexistent global variable '{name}'")),
            "{error}"
        );
    }
    load(
        "redis.log(redis.LOG_DEBUG, redis.REDIS_VERSION) redis.register_function('f', function() end)",
    );
}

#[test]
fn function_gets_its_keys_and_arguments_and_sees_what_scripts_see() {
    let whole = "redis.register_function('other', function() return 0 end) \
                 redis.register_function('f', function(keys, args) return {keys, args, redis.call('PING'), cjson.encode({1})} end)";
    let bulk = |text: &str| Value::Bulk(text.as_bytes().to_vec());
    let expected = Value::Array(vec![
        Value::Array(vec![bulk("k1"), bulk("k2")]),
        Value::Array(vec![bulk("a1")]),
        Value::Simple(b"PONG".to_vec()),
        bulk("[1]"),
    ]);
    assert_eq!(call(whole), expected);
    let of = |body: &str| format!("redis.register_function('f', function(keys, args)\n{body} end)");
    for (body, error) in [
        (
            "error('oh')",
            "ERR user_function:3: oh script: f, on @user_function:3.",
        ),
        (
            "error({err = 'MY oh'})",
            "MY oh script: f, on @user_function:3.",
        ),
        (
            "return redis.call('GET')",
            "ERR no script: f, on @user_function:3.",
        ),
        ("return redis.error_reply('MY oh')", "MY oh"),
        (
            "return KEYS",
            "ERR user_function:3: Script attempted to access nonexistent global variable 'KEYS' script: f, on @user_function:3.",
        ),
        (
            "x = 1",
            "ERR user_function:3: Attempt to modify a readonly table script: f, on @user_function:3.",
        ),
        (
            "redis.register_function('g', function() end)",
            "ERR user_function:3: attempt to call field 'register_function' (a nil value) script: f, on @user_function:3.",
        ),
        (
            "redis.replicate_commands()",
            "ERR user_function:3: attempt to call field 'replicate_commands' (a nil value) script: f, on @user_function:3.",
        ),
    ] {
        assert_eq!(error_of(&of(body)), error, "{body}");
    }
    let loaded = of("return loadstring('return redis.call(\"PING\")')()");
    assert_eq!(call(&loaded), Value::Simple(b"PONG".to_vec()));
}

#[test]
fn nothing_of_a_call_is_there_in_the_next_and_scripts_know_nothing_of_it() {
    let mut engine = engine();
    let counts = "local n = 0 redis.register_function('f', function() n = n + 1 return n end)";
    for _ in 0..3 {
        let ended = call_in(&mut engine, counts, "f");
        assert_eq!(ended, ScriptEnd::Replied(Value::Integer(1)));
    }
    // An error while it is loaded leaves nothing behind.
    assert!(engine.load(b"#!lua name=a\nlocal x = nil .. 'a'").is_err());
    engine.allow(&LIMITS);
    let body = b"return {type(redis.call), type(redis.register_function), type(KEYS)}";
    let script = Script {
        body,
        sha: &sha1_hex(body),
        keys: &[],
        args: &[],
        function: None,
    };
    let bulk = |text: &str| Value::Bulk(text.as_bytes().to_vec());
    let expected = Value::Array(vec![bulk("function"), bulk("nil"), bulk("table")]);
    assert_eq!(engine.run(&script, &mut Pong), ScriptEnd::Replied(expected));
}

#[test]
fn function_ends_within_its_bounds_and_when_its_host_stops_it() {
    let mut engine = engine();
    let of = |body: &str| format!("redis.register_function('f', function() {body} end)");
    let ended = call_in(&mut engine, &of("while true do end"), "f");
    let ScriptEnd::Ended(Value::Error(line)) = ended else {
        panic!("{ended:?}");
    };
    let line = String::from_utf8_lossy(&line).into_owned();
    assert!(
        line.ends_with("nothing of it was executed. script: f"),
        "{line}"
    );
    let stopped = call_in(&mut engine, &of("pcall(redis.call, 'STOP') return 1"), "f");
    assert_eq!(stopped, ScriptEnd::Stopped);
    let fine = call_in(&mut engine, &of("return 1"), "f");
    assert_eq!(fine, ScriptEnd::Replied(Value::Integer(1)));
    let long = [
        b"#!lua name=a\n".as_slice(),
        &vec![b' '; crate::TEXT_BYTES_MAX],
    ]
    .concat();
    assert!(matches!(engine.load(&long), Err(Value::Error(_))));
}
