//! Patterns find what Lua's own functions find.

use crate::{Allowance, CommandHost, Engine, Script, ScriptEnd, sha1_hex};
use brickyard_wire::{Protocol, Value};
use mlua::{Lua, LuaString};
use proptest::prelude::*;
use std::sync::Arc;

struct Nobody;

impl CommandHost for Nobody {
    fn call(&mut self, _args: &[&[u8]], _protocol: Protocol) -> Option<Value> {
        None
    }
}

const COMPARED: &str = "
local s, p, by = ...
local function show(...)
  local all = {}
  for at = 1, select('#', ...) do all[at] = tostring((select(at, ...))) end
  return table.concat(all, '|')
end
local function each(f, ...)
  local ok, a, b, c, d = pcall(f, ...)
  -- Errors are compared as such: ours says where it was.
  if not ok then return 'error' end
  return show(a, b, c, d)
end
local function all_of(s, p)
  local found = {}
  for a, b in s:gmatch(p) do
    found[#found + 1] = show(a, b)
    if #found > 50 then break end
  end
  return table.concat(found, ';')
end
return table.concat({
  each(s.find, s, p), each(s.find, s, p, 2), each(s.find, s, p, -2), each(s.find, s, p, 1, true),
  each(s.match, s, p), each(s.match, s, p, 3), each(all_of, s, p),
  each(s.gsub, s, p, by), each(s.gsub, s, p, by, 1),
  each(s.gsub, s, p, function(a, b) if a == 'a' then return b end return '<' .. tostring(a) .. '>' end),
  each(s.gsub, s, p, {a = 'A', b = false, [''] = 'e'}),
}, '\\n')";

fn ours(engine: &mut Engine, args: [&str; 3]) -> Vec<u8> {
    let body = format!(
        "local function compared(...) {COMPARED} end return compared(ARGV[1], ARGV[2], ARGV[3])"
    );
    let args = args.map(str::as_bytes);
    engine.allow(&Allowance::default());
    let script = Script {
        body: body.as_bytes(),
        sha: &sha1_hex(body.as_bytes()),
        keys: &[],
        args: &args,
        function: None,
    };
    match engine.run(&script, &mut Nobody) {
        ScriptEnd::Replied(Value::Bulk(text)) => text,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("b"),
        Just("."),
        Just("%a"),
        Just("%d"),
        Just("%W"),
        Just("[ab]"),
        Just("[^a]"),
        Just("[a-c%d]"),
        Just("[]]"),
        Just("[^%s]"),
        Just("()"),
        Just("(a)"),
        Just("(.-)"),
        Just("(%a*)"),
        Just(")"),
        Just("%1"),
        Just("%bab"),
        Just("%f[a]"),
        Just("*"),
        Just("+"),
        Just("-"),
        Just("?"),
        Just("^"),
        Just("$"),
        Just("%%"),
        Just("%"),
        Just("["),
    ];
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn patterns_are_those_of_lua(subject in "[abc1 %]{0,9}", pattern in pattern(), by in "(a|%0|%1|%2|%%){0,3}") {
        let lua = Lua::new();
        let theirs: LuaString = lua
            .load(COMPARED)
            .call((subject.as_str(), pattern.as_str(), by.as_str()))
            .expect("compared");
        let ours = ours(&mut Engine::new(Allowance::default(), Arc::default()), [&subject, &pattern, &by]);
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        prop_assert_eq!(shown(&ours), shown(&theirs.as_bytes()), "{:?} {:?} {:?}", subject, pattern, by);
    }
}
