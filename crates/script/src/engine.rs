//! One Lua, its bounds, and the way of a script through it.

use crate::budget::{Allowance, Budget, INSTRUCTIONS_A_LOOK, Meter, ScriptKind, Switch};
use crate::library::RegisteredFunction;
use crate::raise::{LIBRARY, SCRIPT, place, raise, refuse, take_raised};
use crate::values::{to_lua, to_reply};
use crate::{bits, json, msgpack, pack, strings};
use brickyard_wire::{Protocol, Value};
use mlua::chunk::ChunkMode;
use mlua::{
    Function, HookTriggers, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table,
    Value as LuaValue,
};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What executes the commands of a script.
pub trait CommandHost {
    /// Executes one command. `None`: the script has to end, and the host knows why.
    fn call(&mut self, args: &[&[u8]], protocol: Protocol) -> Option<Value>;

    /// Whether who called the script may execute one. `None`: there is no such command.
    fn may(&self, _args: &[&[u8]]) -> Option<bool> {
        None
    }
}

/// What a script asks its host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
enum Asked {
    /// `redis.call`
    Call = 0,
    /// `redis.pcall`
    ProtectedCall = 1,
    /// `redis.acl_check_cmd`
    May = 2,
}

impl Asked {
    const ALL: [(&'static str, Self); 3] = [
        ("call", Self::Call),
        ("pcall", Self::ProtectedCall),
        ("acl_check_cmd", Self::May),
    ];
}

/// A script, or a function of a library, and what it is called with.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// Its text, as it was sent.
    pub body: &'a [u8],
    /// The name of the text.
    pub sha: &'a ShaText,
    /// `KEYS`.
    pub keys: &'a [&'a [u8]],
    /// `ARGV`.
    pub args: &'a [&'a [u8]],
    /// The text is a library, and this function of it is called.
    pub function: Option<&'a str>,
}

impl Script<'_> {
    /// What an error calls it.
    fn label(&self) -> String {
        let sha = || String::from_utf8_lossy(self.sha).into_owned();
        self.function.map_or_else(sha, str::to_owned)
    }

    const fn kind(&self) -> ScriptKind {
        match self.function {
            Some(_) => ScriptKind::Function,
            None => ScriptKind::Script,
        }
    }
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEnd {
    /// With this reply, an error if it has failed. Whether its writes count is for the host to say: Redis keeps those from
    /// before an error.
    Replied(Value),
    /// Its host has ended it.
    Stopped,
    /// It has taken more time or memory than it may.
    Ended(Value),
}

/// SHA-1 of a script's text in hexadecimal digits, by which Redis names scripts.
pub type ShaText = [u8; 40];

/// The name of a script.
#[must_use]
pub fn sha1_hex(body: &[u8]) -> ShaText {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha1::digest(body);
    let mut text = [0; 40];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

const TOO_LONG: &str = "the script took too long and was ended; nothing of it was executed.";

const KILLED: &str = "Script killed by user with SCRIPT KILL; nothing of it was executed.";
const FUNCTION_KILLED: &str =
    "Script killed by user with FUNCTION KILL; nothing of it was executed.";

/// Longest text of a script: it is compiled in one go.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Scripts and libraries that are kept compiled.
const COMPILED_MAX: usize = 500;

/// Where the function is that executes commands of the script that runs.
const HOST: &str = "brickyard.host";

const NO_COMMAND: &str = "Invalid command passed to redis.acl_check_cmd()";

/// See the module.
#[derive(Debug)]
pub struct Engine {
    lua: Lua,
    prelude: Prelude,
    number_text: Function,
    compiled: BTreeMap<(ScriptKind, ShaText), Function>,
    budget: Arc<Budget>,
    memory_max: usize,
}

/// What the prelude gives.
#[derive(Debug)]
struct Prelude {
    run: Function,
    load: Function,
    call: Function,
    /// What a library has for globals.
    library_globals: Table,
}

impl Engine {
    /// An engine whose scripts may take so much, and can be ended by the switch.
    ///
    /// # Panics
    /// If Lua cannot be set up, for lack of memory.
    #[must_use]
    pub fn new(allowance: Allowance, switch: Arc<Switch>) -> Self {
        match Self::begin(allowance, switch) {
            Ok(engine) => engine,
            Err(error) => panic!("Lua cannot be set up: {error}"),
        }
    }

    fn begin(allowance: Allowance, switch: Arc<Switch>) -> mlua::Result<Self> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        // With Lua's own `pcall`, which may catch a panic: `is_in_host` tells of it. The library's leaves a slot too few of the stack.
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let budget = Arc::new(Budget::new(&allowance, switch));
        let format: Function = lua.globals().get::<Table>("string")?.get("format")?;
        let number_text = format.bind("%.17g")?;
        let native = natives(&lua, &budget, &format.bind("%.14g")?)?;
        let prelude = lua
            .load(include_str!("prelude.lua"))
            .set_name("=prelude")
            .set_mode(ChunkMode::Text);
        let given: Table = prelude.call(native)?;
        lua.set_globals(given.raw_get("globals")?)?;
        let prelude = Prelude {
            run: given.raw_get("run")?,
            load: given.raw_get("load")?,
            call: given.raw_get("call")?,
            library_globals: given.raw_get("library_globals")?,
        };
        let shared = Arc::clone(&budget);
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_A_LOOK);
        lua.set_hook(triggers, move |_, _| shared.look())?;
        lua.set_memory_limit(allowance.memory_max)?;
        Ok(Self {
            lua,
            prelude,
            number_text,
            compiled: BTreeMap::new(),
            budget,
            memory_max: allowance.memory_max,
        })
    }

    /// What the scripts that follow may take, all together.
    pub fn allow(&mut self, allowance: &Allowance) {
        self.budget.renew(allowance);
        if allowance.memory_max != self.memory_max
            && self.lua.set_memory_limit(allowance.memory_max).is_ok()
        {
            self.memory_max = allowance.memory_max;
        }
    }

    /// How long it is since [`Self::allow`]; nothing where time is not measured.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.budget.spent()
    }

    /// Whether the text is a script.
    ///
    /// # Errors
    /// Redis's: what is wrong with it, and where.
    pub fn check(&mut self, body: &[u8]) -> Result<(), Value> {
        self.make_room();
        self.compile(ScriptKind::Script, body, &sha1_hex(body))
            .map(|_| ())
    }

    /// Loads a library: what it registers. Nothing of it stays but its compiled text.
    ///
    /// # Errors
    /// Redis's: what is wrong with it, and where.
    pub fn load(&mut self, body: &[u8]) -> Result<Vec<RegisteredFunction>, Value> {
        self.make_room();
        let compiled = self.compile(ScriptKind::Function, body, &sha1_hex(body))?;
        self.budget.begin_script();
        self.budget.switch.begin(ScriptKind::Function);
        let ran: mlua::Result<(bool, Table)> = self.prelude.load.call(compiled);
        let is_killed = self.budget.switch.end();
        let has_ended = self.budget.has_ended.load(Ordering::Relaxed);
        let refused = |text: &str| {
            let line = format!("ERR Error registering functions: {}", first_line(text));
            Err(Value::Error(line.into_bytes()))
        };
        let listed = match ran {
            _ if has_ended && is_killed => return refused(FUNCTION_KILLED),
            _ if has_ended => return refused("ERR FUNCTION LOAD timeout"),
            Ok((true, listed)) => listed,
            Ok((false, raised)) => {
                let text: mlua::Result<LuaString> = raised.raw_get("err");
                return refused(&text.map_or_else(|it| it.to_string(), |it| it.to_string_lossy()));
            }
            Err(error) => {
                self.forget();
                return refused(&error.to_string());
            }
        };
        let functions = listed.sequence_values::<Table>();
        let functions = functions.map(|it| RegisteredFunction::read(&it?));
        match functions.collect::<mlua::Result<Vec<_>>>() {
            Ok(none) if none.is_empty() => {
                Err(Value::Error(b"ERR No functions registered".to_vec()))
            }
            Ok(functions) => Ok(functions),
            Err(error) => refused(&error.to_string()),
        }
    }

    /// Forgets what it has compiled.
    pub fn forget(&mut self) {
        self.compiled.clear();
        let _left = self.lua.gc_collect();
    }

    /// Lua collects what is not used by the amount of what is, and knows of no bound: what one script has left would be lacking for the next.
    fn make_room(&mut self) {
        let most = self.memory_max / 4;
        if self.lua.used_memory() <= most {
            return;
        }
        let _left = self.lua.gc_collect();
        if self.lua.used_memory() > most {
            self.forget();
        }
    }

    fn compile(&mut self, kind: ScriptKind, body: &[u8], sha: &ShaText) -> Result<Function, Value> {
        let key = (kind, *sha);
        if let Some(compiled) = self.compiled.get(&key) {
            return Ok(compiled.clone());
        }
        if body.len() > TEXT_BYTES_MAX {
            let text = format!(
                "ERR the script is {} bytes long and the longest is {TEXT_BYTES_MAX}; give it data as arguments",
                body.len()
            );
            return Err(Value::Error(text.into_bytes()));
        }
        // The first line may say what the script needs (`#!lua flags=...`); lines keep their numbers.
        let text = match body.starts_with(b"#!") {
            true => {
                let line = body.iter().position(|it| *it == b'\n');
                &body[line.unwrap_or(body.len())..]
            }
            false => body,
        };
        let chunk = self.lua.load(text).set_mode(ChunkMode::Text);
        let chunk = match kind {
            ScriptKind::Script => chunk.set_name(format!("@{SCRIPT}")),
            ScriptKind::Function => chunk
                .set_name(format!("@{LIBRARY}"))
                .set_environment(self.prelude.library_globals.clone()),
        };
        let compiled = chunk.into_function();
        match compiled {
            Ok(compiled) => {
                if self.compiled.len() >= COMPILED_MAX {
                    self.forget();
                }
                self.compiled.insert(key, compiled.clone());
                Ok(compiled)
            }
            Err(error) => {
                let text = match &error {
                    mlua::Error::SyntaxError { message, .. } => message.clone(),
                    other => other.to_string(),
                };
                let what = match kind {
                    ScriptKind::Script => "script (new function)",
                    ScriptKind::Function => "function",
                };
                let line = format!("ERR Error compiling {what}: {}", first_line(&text));
                Err(Value::Error(line.into_bytes()))
            }
        }
    }

    /// Runs a script within what is left of what [`Self::allow`] has granted.
    pub fn run(&mut self, script: &Script<'_>, host: &mut dyn CommandHost) -> ScriptEnd {
        self.make_room();
        let kind = script.kind();
        let compiled = match self.compile(kind, script.body, script.sha) {
            Ok(compiled) => compiled,
            Err(error) => return ScriptEnd::Replied(error),
        };
        self.budget.begin_script();
        self.budget.switch.begin(kind);
        let mut is_stopped = false;
        let ran = self.run_compiled(&compiled, script, host, &mut is_stopped);
        let is_killed = self.budget.switch.end();
        // Lua may have taken the panic for an error, which a script can catch.
        assert!(
            !self.budget.is_in_host.load(Ordering::Relaxed),
            "a command of a script has panicked"
        );
        if is_stopped {
            return ScriptEnd::Stopped;
        }
        let over = |text: &str| {
            let line = format!("ERR {text} script: {}", script.label());
            ScriptEnd::Ended(Value::Error(line.into_bytes()))
        };
        if self.budget.has_ended.load(Ordering::Relaxed) {
            return over(match (is_killed, kind) {
                (true, ScriptKind::Script) => KILLED,
                (true, ScriptKind::Function) => FUNCTION_KILLED,
                (false, _) => TOO_LONG,
            });
        }
        match ran {
            Ok((true, result)) => {
                let is_resp3 = self.budget.is_resp3.load(Ordering::Relaxed);
                match to_reply(&result, is_resp3, &Meter::new(&self.budget)) {
                    Ok(reply) => ScriptEnd::Replied(reply),
                    Err(_) if self.budget.has_ended.load(Ordering::Relaxed) => over(TOO_LONG),
                    Err(error) => over(&format!(
                        "{}; nothing of it was executed.",
                        first_line(&error.to_string())
                    )),
                }
            }
            Ok((false, LuaValue::Table(raised))) => ScriptEnd::Replied(described(&raised, script)),
            Ok((false, other)) => {
                self.forget();
                let text = other.to_string().unwrap_or_default();
                over(&format!(
                    "{}; nothing of it was executed.",
                    first_line(&text)
                ))
            }
            Err(mlua::Error::MemoryError(text)) => {
                self.forget();
                over(&format!(
                    "{}; nothing of it was executed.",
                    first_line(&text)
                ))
            }
            Err(error) => over(first_line(&error.to_string())),
        }
    }

    fn run_compiled(
        &self,
        compiled: &Function,
        script: &Script<'_>,
        host: &mut dyn CommandHost,
        is_stopped: &mut bool,
    ) -> mlua::Result<(bool, LuaValue)> {
        let lua = &self.lua;
        let keys = texts(lua, script.keys)?;
        let args = texts(lua, script.args)?;
        let (budget, number_text) = (&self.budget, &self.number_text);
        lua.scope(|scope| {
            let call = scope.create_function_mut(|lua, (asked, called): (i64, MultiValue)| {
                let is_resp3 = budget.is_resp3.load(Ordering::Relaxed);
                let reply = match words(&called, number_text, &Meter::new(budget))? {
                    Ok(words) => {
                        let words: Vec<&[u8]> = words.iter().map(|it| &it[..]).collect();
                        if asked == Asked::May as i64 {
                            return match host.may(&words) {
                                Some(may) => Ok(LuaValue::Boolean(may)),
                                None => refuse(lua, NO_COMMAND),
                            };
                        }
                        let protocol = if is_resp3 {
                            Protocol::Resp3
                        } else {
                            Protocol::Resp2
                        };
                        budget.is_in_host.store(true, Ordering::Relaxed);
                        let replied = host.call(&words, protocol);
                        budget.is_in_host.store(false, Ordering::Relaxed);
                        match replied {
                            Some(reply) => reply,
                            None => {
                                *is_stopped = true;
                                return Err(budget.end());
                            }
                        }
                    }
                    Err(error) => error,
                };
                let shown = to_lua(lua, &reply, is_resp3)?;
                let is_raised = asked != Asked::ProtectedCall as i64;
                if is_raised && matches!(reply, Value::Error(_)) {
                    return raise(lua, shown);
                }
                Ok(shown)
            })?;
            lua.set_named_registry_value(HOST, call)?;
            let ran = match script.function {
                None => self.prelude.run.call((compiled, keys, args)),
                Some(name) => self.prelude.call.call((compiled, keys, args, name)),
            };
            lua.set_named_registry_value(HOST, LuaValue::Nil)?;
            ran
        })
    }
}

/// What the prelude is given.
fn natives(lua: &Lua, budget: &Arc<Budget>, short_number: &Function) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    // What we say that we are, as HELLO and INFO do.
    native.set("VERSION", "7.4.2")?;
    native.set("VERSION_NUMBER", 0x0007_0402)?;
    let shared = Arc::clone(budget);
    let has_ended = move |_: &Lua, ()| {
        let has_ended = shared.has_ended.load(Ordering::Relaxed);
        Ok(has_ended || shared.is_in_host.load(Ordering::Relaxed))
    };
    native.set("has_ended", lua.create_function(has_ended)?)?;
    let kilobytes = |lua: &Lua, ()| Ok(lua.used_memory() as f64 / 1024.0);
    native.set("kilobytes", lua.create_function(kilobytes)?)?;
    for (name, asked) in Asked::ALL {
        let call = move |lua: &Lua, called: MultiValue| {
            let host: Function = lua.named_registry_value(HOST)?;
            host.call::<LuaValue>((asked as i64, called))
        };
        native.set(name, lua.create_function(call)?)?;
    }
    native.set("raised", lua.create_function(|lua, ()| take_raised(lua))?)?;
    let shared = Arc::clone(budget);
    let charge = move |_: &Lua, bytes: usize| Meter::new(&shared).spend(bytes);
    native.set("charge", lua.create_function(charge)?)?;
    let shared = Arc::clone(budget);
    let repeat = move |lua: &Lua, (text, count): (LuaString, f64)| {
        let (text, count) = (text.as_bytes(), count.max(0.0) as usize);
        Meter::new(&shared).take(text.len().saturating_mul(count))?;
        lua.create_string(text.repeat(count))
    };
    native.set("repeat_text", lua.create_function(repeat)?)?;
    let line = |lua: &Lua, ()| Ok(place(lua).map(|(_, line)| line));
    native.set("line", lua.create_function(line)?)?;
    let shared = Arc::clone(budget);
    let draw = move |_: &Lua, ()| Ok(shared.random.draw());
    native.set("random", lua.create_function(draw)?)?;
    let shared = Arc::clone(budget);
    let seed = move |_: &Lua, seed: f64| {
        shared.random.seed(seed as i64 as i32);
        Ok(())
    };
    native.set("seed", lua.create_function(seed)?)?;
    let shared = Arc::clone(budget);
    let setresp = move |lua: &Lua, called: MultiValue| {
        if called.len() != 1 {
            return refuse(lua, "redis.setresp() requires one argument.");
        }
        match called.front().and_then(LuaValue::as_i64) {
            Some(version @ (2 | 3)) => shared.is_resp3.store(version == 3, Ordering::Relaxed),
            _ => return refuse(lua, "RESP version must be 2 or 3."),
        }
        Ok(())
    };
    native.set("setresp", lua.create_function(setresp)?)?;
    native.set("sha1hex", lua.create_function(sha1_of)?)?;
    native.set("log", lua.create_function(log)?)?;
    strings::install(lua, &native, budget)?;
    bits::install(lua, &native)?;
    json::install(lua, &native, short_number, budget)?;
    msgpack::install(lua, &native, budget)?;
    pack::install(lua, &native, budget)?;
    Ok(native)
}

/// `redis.sha1hex`.
fn sha1_of(lua: &Lua, called: MultiValue) -> mlua::Result<LuaString> {
    if called.len() != 1 {
        return refuse(lua, "wrong number of arguments");
    }
    let text = called
        .front()
        .and_then(|it| lua.coerce_string(it.clone()).transpose());
    let sha = match text.transpose()? {
        Some(text) => sha1_hex(&text.as_bytes()),
        None => sha1_hex(b""),
    };
    lua.create_string(sha)
}

/// `redis.log`: looks at its arguments alone, since a client could fill the node's log.
fn log(lua: &Lua, called: MultiValue) -> mlua::Result<()> {
    if called.len() < 2 {
        return refuse(lua, "redis.log() requires two arguments or more.");
    }
    let level = called
        .front()
        .and_then(|it| lua.coerce_integer(it.clone()).transpose());
    match level.transpose()? {
        None => refuse(lua, "First argument must be a number (log level)."),
        Some(0..=3) => Ok(()),
        Some(_) => refuse(lua, "Invalid debug level."),
    }
}

fn texts(lua: &Lua, texts: &[&[u8]]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(texts.len(), 0)?;
    for (at, text) in texts.iter().enumerate() {
        table.raw_set(at + 1, lua.create_string(text)?)?;
    }
    Ok(table)
}

/// A command's arguments, as the script gave them; the error that it gets if they are none.
fn words(
    called: &MultiValue,
    number_text: &Function,
    meter: &Meter<'_>,
) -> mlua::Result<Result<Vec<Vec<u8>>, Value>> {
    let refused = |text: &str| Ok(Err(Value::Error(text.as_bytes().to_vec())));
    if called.is_empty() {
        return refused("ERR Please specify at least one argument for this redis lib call");
    }
    let mut words = Vec::with_capacity(called.len());
    for value in called {
        words.push(match value {
            LuaValue::String(text) => {
                meter.take(text.as_bytes().len())?;
                text.as_bytes().to_vec()
            }
            LuaValue::Integer(number) => number.to_string().into_bytes(),
            LuaValue::Number(number) if number.fract() == 0.0 && number.abs() < 9e18 => {
                (*number as i64).to_string().into_bytes()
            }
            LuaValue::Number(number) => number_text.call::<LuaString>(*number)?.as_bytes().to_vec(),
            _ => {
                return refused("ERR Lua redis lib command arguments must be strings or integers");
            }
        });
    }
    Ok(Ok(words))
}

/// An error that the script raised, with its name and where it was.
fn described(raised: &Table, script: &Script<'_>) -> Value {
    let text: LuaString = match raised.raw_get("err") {
        Ok(text) => text,
        Err(error) => return Value::Error(format!("ERR {error}").into_bytes()),
    };
    let mut line = first_line(&text.to_string_lossy()).to_owned();
    line.push_str(" script: ");
    line.push_str(&script.label());
    if let Ok(Some(at)) = raised.raw_get::<Option<usize>>("line") {
        let source = match script.kind() {
            ScriptKind::Script => SCRIPT,
            ScriptKind::Function => LIBRARY,
        };
        line.push_str(&format!(", on @{source}:{at}."));
    }
    Value::Error(line.into_bytes())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
#[path = "engine_test.rs"]
mod engine_test;
