//! Scripts as clients send them, and what they give the helpers: whatever they are, they end within their bounds, and nothing of one is left
//! for the next.

use brickyard_script::{Allowance, CommandHost, Engine, Script, ScriptEnd, library_name, sha1_hex};
use brickyard_wire::{Protocol, Value};
use std::cell::RefCell;
use std::sync::Arc;

const ALLOWANCE: Allowance = Allowance {
    instructions_max: 20_000,
    time_max: None,
    memory_max: 16 << 20,
};

/// What reads bytes of an argument.
const READERS: [&[u8]; 5] = [
    b"return {pcall(cjson.decode, ARGV[1])}",
    b"return {pcall(cmsgpack.unpack, ARGV[1])}",
    b"return {pcall(struct.unpack, ARGV[1], ARGV[1])}",
    b"return {pcall(string.find, ARGV[1], ARGV[1]), pcall(string.gsub, ARGV[1], ARGV[1], ARGV[1])}",
    b"return {pcall(string.format, ARGV[1], 1, 'x', 2.5)}",
];

/// Gives every command its words back.
struct Words;

impl CommandHost for Words {
    fn call(&mut self, words: &[&[u8]], _protocol: Protocol) -> Option<Value> {
        let words = words.iter().map(|word| Value::Bulk(word.to_vec()));
        Some(Value::Array(words.collect()))
    }
}

fn run_one(engine: &mut Engine, body: &[u8], argument: &[u8]) -> ScriptEnd {
    engine.allow(&ALLOWANCE);
    let script = Script {
        body,
        sha: &sha1_hex(body),
        keys: &[b"key"],
        args: &[argument],
        function: None,
    };
    engine.run(&script, &mut Words)
}

/// Takes the bytes for a library; if they are one, its functions are called.
fn load_and_call(engine: &mut Engine, body: &[u8]) {
    let _name = library_name(body);
    engine.allow(&ALLOWANCE);
    let Ok(functions) = engine.load(body) else {
        return;
    };
    for function in functions.iter().take(3) {
        engine.allow(&ALLOWANCE);
        let script = Script {
            body,
            sha: &sha1_hex(body),
            keys: &[b"key"],
            args: &[body],
            function: Some(&function.name),
        };
        engine.run(&script, &mut Words);
    }
}

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::new(Engine::new(ALLOWANCE, Arc::default()));
}

/// Panics if the engine breaks its word.
pub(super) fn run(input: &[u8]) {
    ENGINE.with_borrow_mut(|engine| {
        run_one(engine, input, input);
        load_and_call(engine, input);
        for reader in READERS {
            run_one(engine, reader, input);
        }
        let check = b"return {KEYS[1], ARGV[1], type(redis.call), #redis.call('a', 'b')}";
        let texts = ["key", "x", "function"];
        let mut kept = texts.map(|text| Value::Bulk(text.into())).to_vec();
        kept.push(Value::Integer(2));
        let seen = run_one(engine, check, b"x");
        assert_eq!(seen, ScriptEnd::Replied(Value::Array(kept)));
    });
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 11] = [
        b"return redis.call('get', KEYS[1])",
        b"local t = {} for i = 1, 100 do t[i] = redis.pcall('incr', KEYS[1], i) end return t",
        b"if ARGV[1] == '1' then return redis.status_reply('OK') else error({err = 'E x'}) end",
        b"return cjson.encode({a = {1, 2, cjson.null}, b = 'x'})",
        b"{\"a\":[1,2.5e3,\"\\u00e9\",null,{\"b\":false}]}",
        b"\x82\xa1a\x93\x01\xcb\x40\x04\x00\x00\x00\x00\x00\x00\xa1x\xa1b\xc0",
        b">I2i4c3sd!8f",
        b"^(%a+)%s*=%s*(%b{})%f[%w].-$%1",
        b"%5.2f|%d|%-10s|%q|%x|%c",
        b"#!lua name=a\nlocal n = 0 redis.register_function{function_name='f', callback=function(keys, args) n = n + 1 \
          return redis.call('get', keys[1], n) end, flags={'no-writes'}} redis.register_function('g', function() return 1 end)",
        b"#!lua flags=no-writes\nreturn (('x'):rep(100):gsub('x', {x = 'y'}))",
    ];
    texts.map(<[u8]>::to_vec).to_vec()
}
