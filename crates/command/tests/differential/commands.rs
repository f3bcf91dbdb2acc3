//! Goal: `COMMAND INFO` says of each command what Redis 7.0.15 says, and `COMMAND DOCS` gives the
//! same synopsis.
//!
//! Method: the replies of a real server, one line a command, are kept in `testdata`; ours are
//! rendered, brought into the same form and compared. Where there is a redis-server, the kept lines
//! are compared with it too, and rewritten if `BRICKYARD_REFRESH` is set.

use super::redis::Redis;
use brickyard_command::table::{COMMANDS, Spec};
use brickyard_command::{OwnedArgs, describe, resolve};
use brickyard_wire::{Protocol, Reply, ReplyDecoder, ReplyLimits, ReplyStep, Value};
use std::path::PathBuf;

/// Commands and subcommands that Redis 7.0 lacks.
const NEWER: [&str; 20] = [
    "cluster|myshardid",
    "client|no-touch",
    "client|setinfo",
    "cluster|lookup",
    "cluster|watch",
    "delifeq",
    "hexpire",
    "hexpireat",
    "hexpiretime",
    "hgetdel",
    "hgetex",
    "hpersist",
    "hpexpire",
    "hpexpireat",
    "hpexpiretime",
    "hpttl",
    "hsetex",
    "httl",
    "request",
    "watchkeys",
];

/// Synopses that say more than Redis's: SET knows `IFEQ`.
const LONGER_SYNOPSIS: [&str; 1] = ["set"];

fn all_specs() -> Vec<&'static Spec> {
    COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
        .filter(|spec| !spec.is_hidden && !is_newer(spec))
        .collect()
}

/// Containers that Redis lacks, and their subcommands.
fn is_of_ours(spec: &Spec) -> bool {
    let container = spec.name.split('|').next().unwrap_or_default();
    ["lease", "node", "rebalance", "table"].contains(&container)
}

fn is_newer(spec: &Spec) -> bool {
    NEWER.contains(&spec.name) || is_of_ours(spec)
}

fn our_reply(protocol: Protocol, request: &OwnedArgs) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, protocol);
    let args = request.as_args();
    let outcome = resolve(args).and_then(|spec| describe(spec.id, args, &mut reply));
    if let Err(error) = outcome {
        reply.error(&error.text());
    }
    out
}

fn decoded(bytes: &[u8]) -> Value {
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    match decoder.decode(bytes).expect("a well-formed reply") {
        ReplyStep::Reply { value, .. } => value,
        ReplyStep::Incomplete { .. } => panic!("half a reply: {}", bytes.escape_ascii()),
    }
}

/// A value on one line: `[a b]` for arrays and sets, `{a b}` for maps, `+a` for statuses.
fn line(value: &Value) -> String {
    let joined = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(" ");
    match value {
        Value::Simple(text) => format!("+{}", String::from_utf8_lossy(text)),
        Value::Bulk(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Array(values) | Value::Set(values) => {
            format!("[{}]", joined(&mut values.iter().map(line)))
        }
        Value::Map(pairs) => {
            let pairs = pairs.iter().filter(|(name, _)| !is_history(name));
            let pairs = &mut pairs.map(|(name, value)| format!("{} {}", line(name), line(value)));
            format!("{{{}}}", joined(pairs))
        }
        other => format!("{other:?}"),
    }
}

/// Since when Redis has had an argument, which our releases do not follow.
fn is_history(name: &Value) -> bool {
    matches!(name.bytes(), Some(b"since" | b"deprecated_since"))
}

/// The ten fields but the subcommands, which have lines of their own.
fn info_line(reply: &[u8]) -> String {
    let reply = decoded(reply);
    let fields = reply.elements().and_then(|replies| replies[0].elements());
    let fields = fields.expect("the fields of one command");
    assert_eq!(fields.len(), 10, "the fields of COMMAND INFO");
    fields[..9].iter().map(line).collect::<Vec<_>>().join(" ")
}

/// Name, group and arguments.
fn docs_line(reply: &[u8]) -> String {
    let Value::Map(commands) = decoded(reply) else {
        panic!("COMMAND DOCS is a map");
    };
    let (name, Value::Map(fields)) = &commands[0] else {
        panic!("what COMMAND DOCS says of a command is a map");
    };
    let mut shown = line(name);
    for wanted in ["group", "arguments"] {
        let field = fields.iter().find(|(name, _)| line(name) == wanted);
        if let Some((_, value)) = field {
            shown.push(' ');
            shown.push_str(&line(value));
        }
    }
    shown
}

/// One of the two kinds of lines that are kept.
struct Kept {
    file: &'static str,
    subcommand: &'static str,
    line: fn(&[u8]) -> String,
    except: &'static [&'static str],
}

const KEPT: [Kept; 2] = [
    Kept {
        file: "redis-7.0.15-commands.txt",
        subcommand: "INFO",
        line: info_line,
        except: &[],
    },
    Kept {
        file: "redis-7.0.15-synopses.txt",
        subcommand: "DOCS",
        line: docs_line,
        except: &LONGER_SYNOPSIS,
    },
];

impl Kept {
    fn path(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("testdata")
            .join(self.file)
    }

    fn request(&self, spec: &Spec) -> OwnedArgs {
        ["COMMAND", self.subcommand, spec.name].iter().collect()
    }
}

#[test]
fn commands_are_described_as_by_redis() {
    for kept in &KEPT {
        let text = std::fs::read_to_string(kept.path()).expect("the kept lines");
        let theirs: Vec<&str> = text.lines().collect();
        for spec in all_specs() {
            if kept.except.contains(&spec.name) {
                continue;
            }
            let ours = (kept.line)(&our_reply(Protocol::Resp3, &kept.request(spec)));
            assert!(theirs.contains(&ours.as_str()), "{}: {ours}", kept.file);
        }
    }
}

#[test]
fn kept_descriptions_are_those_of_redis() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    for kept in &KEPT {
        let specs = all_specs();
        let requests: Vec<OwnedArgs> = specs.iter().map(|spec| kept.request(spec)).collect();
        let replies = redis.run(Protocol::Resp3, &requests);
        let theirs: String = replies
            .iter()
            .map(|reply| (kept.line)(reply) + "\n")
            .collect();
        if std::env::var_os("BRICKYARD_REFRESH").is_some() {
            std::fs::write(kept.path(), &theirs).expect("the kept lines can be rewritten");
        }
        let text = std::fs::read_to_string(kept.path()).expect("the kept lines");
        assert_eq!(theirs, text, "{}", kept.file);
    }
}

#[test]
fn descriptions_are_byte_for_byte_those_of_redis() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let leaves = |spec: &&Spec| spec.subcommands.is_empty();
    let mut requests: Vec<OwnedArgs> = all_specs()
        .into_iter()
        .filter(leaves)
        .map(|spec| ["command", "info", spec.name].iter().collect())
        .collect();
    let others = [
        "command info nosuchcommand",
        "command info get|x client|x client|list|x object|encoding",
        "command docs nosuchcommand",
        "command list filterby module nosuchmodule",
        "command list filterby aclcat nosuchcategory",
        "command list filterby pattern nosuch*",
        "command list filterby pattern GET",
        "command list filterby pattern client|setn*",
        "command list filterby",
        "command list other",
        "command list filterby other x",
        "command nosuchsubcommand",
        "command getkeys get",
        "command getkeys get key",
        "command getkeys get key more",
        "command getkeys nosuchcommand x y",
        "command getkeys ping x y",
        "command getkeys mset a 1 b 2",
        "command getkeys mset a 1 b",
        "command getkeys bitop and to a b",
        "command getkeys bitop and",
        "command getkeys object encoding key",
        "command getkeys object nosuch key",
        "command getkeys client list x",
        "command getkeysandflags set key value",
        "command getkeysandflags set key value nx get",
        "command getkeysandflags bitfield key get u8 0",
        "command getkeysandflags bitfield key get u8 0 set u8 0 1",
        "command getkeysandflags bitfield key nonsense",
        "command getkeysandflags rename a b",
        "command getkeysandflags del a b c",
        "command getkeysandflags memory usage key",
        "command getkeysandflags watch a b",
    ];
    requests.extend(others.iter().map(|words| words.split(' ').collect()));
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let theirs = redis.run(protocol, &requests);
        for (request, theirs) in requests.iter().zip(theirs) {
            let ours = our_reply(protocol, request);
            assert_eq!(
                ours.escape_ascii().to_string(),
                theirs.escape_ascii().to_string(),
                "{protocol:?} {}",
                super::shown(request.as_args())
            );
        }
    }
}
