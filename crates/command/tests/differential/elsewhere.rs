//! Goal: `docs/all-commands.md` says of every command of Redis and Valkey whether it is here, and why not.
//!
//! Method: their names, with the release that has them, are kept in `testdata`; the page is made of them and of our table, and
//! compared with what is in `docs`. It is written anew if `BRICKYARD_REFRESH` is set.
//!
//! Invariants:
//! - A command that is not here has a reason, and each reason is somebody's: one that is answered by now goes out.

use brickyard_command::table::{COMMANDS, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

const PAGE: &str = "../../docs/all-commands.md";

/// Who refreshes the page, and how.
const HOW: &str =
    "BRICKYARD_REFRESH=1 cargo test -p brickyard-command --test differential elsewhere";

/// The chapters, in the order of the page: those with the most commands that are here come first.
const CHAPTERS: [(&str, &str); 27] = [
    ("string", "Strings"),
    ("bitmap", "Bits"),
    ("hash", "Hashes"),
    ("generic", "Keys"),
    ("transactions", "Transactions"),
    ("scripting", "Scripts and functions"),
    ("pubsub", "Channels"),
    ("connection", "Connection"),
    ("server", "Server"),
    ("cluster", "Cluster"),
    ("list", "Lists"),
    ("set", "Sets"),
    ("sorted-set", "Sorted sets"),
    ("stream", "Streams"),
    ("geo", "Places"),
    ("hyperloglog", "HyperLogLog"),
    ("array", "Arrays"),
    ("vector-set", "Vector sets"),
    ("json", "JSON"),
    ("search", "Search"),
    ("time-series", "Time series"),
    ("bloom", "Bloom filters"),
    ("cuckoo", "Cuckoo filters"),
    ("count-min", "Count-min sketches"),
    ("top-k", "Top-K"),
    ("t-digest", "t-digest"),
    ("sentinel", "Sentinel"),
];

const NO_SLOTS_BY_HAND: &str = "slots are placed by the catalog, not by hand";
const MOVES: &str = "partitions move by themselves (`REBALANCE`, [balancing.md](balancing.md))";
const COPIES: &str = "copies are kept by the catalog (`REPLICAS`); `brickyard import` follows a Redis as its replica, and `brickyard dump --format rdb` writes a snapshot";
const NEWER: &str = "newer than what is served here";
const TESTS: &str = "for Redis's own tests";
const SWAPPED: &str = "as in a Redis cluster: a swap that every node sees at one moment would need all nodes to stop for it, and users' rights name tables";
const NO_STREAMS: &str = "streams are not there";
const MODULE: &str = "a module of Redis's own";

/// Why a command is not here: by its name, by its container (`module|*`), or by its chapter (`@list`); the first that fits.
const REASONS: &[(&str, &str)] = &[
    ("swapdb", SWAPPED),
    (
        "sort",
        "sorts lists, sets and sorted sets, which are not there",
    ),
    (
        "sort_ro",
        "sorts lists, sets and sorted sets, which are not there",
    ),
    ("migrate", NO_SLOTS_BY_HAND),
    ("restore-asking", NO_SLOTS_BY_HAND),
    (
        "waitaof",
        "what is acknowledged is in the logs of all in-sync copies; `DURABILITY fsync` has it synced",
    ),
    ("bless", NEWER),
    ("bless|*", NEWER),
    ("delex", NEWER),
    ("digest", NEWER),
    ("increx", NEWER),
    ("msetex", NEWER),
    ("bitrangeintarray", NEWER),
    ("himport", NEWER),
    ("himport|*", NEWER),
    ("script|debug", "there is no debugger"),
    (
        "script|show",
        "newer than what is served here; a client has the text that it sent",
    ),
    ("client|unblock", "no command blocks"),
    (
        "client|capa",
        "asks for redirections of a node alone, which are never sent",
    ),
    (
        "client|import-source",
        "`brickyard import` writes as any client does",
    ),
    ("bgrewriteaof", "the log is cleaned all the time"),
    ("backup", "`brickyard backup` ([backup.md](backup.md))"),
    ("backup|*", "`brickyard backup` ([backup.md](backup.md))"),
    ("commandlog", "`SLOWLOG` has the slow ones"),
    ("commandlog|*", "`SLOWLOG` has the slow ones"),
    ("debug", TESTS),
    ("pfdebug", TESTS),
    ("pfselftest", TESTS),
    ("hotkeys", "`TABLE HOTKEYS`, always on"),
    ("hotkeys|*", "`TABLE HOTKEYS`, always on"),
    ("lolwut", "draws pictures"),
    (
        "module",
        "there are no modules: foreign code in the process could break every promise",
    ),
    (
        "module|*",
        "there are no modules: foreign code in the process could break every promise",
    ),
    (
        "failover",
        "the leader of the control plane decides; `NODE DRAIN` empties a node",
    ),
    ("psync", COPIES),
    ("replconf", COPIES),
    ("replicaof", COPIES),
    ("slaveof", COPIES),
    ("sync", COPIES),
    ("sflush", NEWER),
    ("clusterscan", "`SCAN` at the node port goes over all nodes"),
    ("cluster|cancelslotmigrations", MOVES),
    ("cluster|flushslot", NO_SLOTS_BY_HAND),
    ("cluster|getslotmigrations", MOVES),
    ("cluster|migrateslots", MOVES),
    ("cluster|migration", MOVES),
    ("cluster|slaves", "an old name of `CLUSTER REPLICAS`"),
    (
        "cluster|slot-stats",
        "`TABLE HOTKEYS`, `TABLE BIGKEYS` and the metrics tell where load is",
    ),
    ("cluster|syncslots", MOVES),
    ("@cluster", NO_SLOTS_BY_HAND),
    ("@list", "lists are not there"),
    ("@set", "sets are not there"),
    ("@sorted-set", "sorted sets are not there"),
    ("@stream", NO_STREAMS),
    ("@geo", "kept in sorted sets, which are not there"),
    ("@hyperloglog", "not there"),
    (
        "@array",
        "a type of Redis's own, newer than what is served here",
    ),
    (
        "@vector-set",
        "a type of Redis's own, newer than what is served here",
    ),
    ("@json", MODULE),
    ("@search", MODULE),
    ("@time-series", MODULE),
    ("@bloom", MODULE),
    ("@cuckoo", MODULE),
    ("@count-min", MODULE),
    ("@top-k", MODULE),
    ("@t-digest", MODULE),
    (
        "@sentinel",
        "the cluster fails over by itself, without watchers",
    ),
];

/// A command of theirs.
struct Named {
    name: String,
    chapter: String,
    /// The first release of Redis from 7.2 on that has it, or `-`.
    redis: String,
    /// The first release of Valkey from 9.0 on that has it, or `-`.
    valkey: String,
}

impl Named {
    fn read(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, chapter, redis, valkey] = words[..] else {
            panic!("a line has four words: {line}");
        };
        let [name, chapter, redis, valkey] = [name, chapter, redis, valkey].map(str::to_owned);
        Self {
            name,
            chapter,
            redis,
            valkey,
        }
    }

    /// The name in a request: `CLIENT LIST`.
    fn shown(&self) -> String {
        shown(&self.name)
    }

    /// Which of the reasons is its own.
    fn reason(&self) -> Option<&'static (&'static str, &'static str)> {
        let container = self.name.split_once('|').map(|(name, _)| name);
        REASONS
            .iter()
            .find(|(whose, _)| match whose.strip_prefix('@') {
                Some(chapter) => chapter == self.chapter,
                None => {
                    *whose == self.name
                        || whose
                            .strip_suffix("|*")
                            .is_some_and(|it| container == Some(it))
                }
            })
    }
}

fn shown(name: &str) -> String {
    format!("`{}`", name.to_uppercase().replace('|', " "))
}

fn path(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(below)
}

fn theirs() -> Vec<Named> {
    let text = std::fs::read_to_string(path("testdata/names-of-redis-and-valkey.txt"));
    text.expect("the kept names")
        .lines()
        .map(Named::read)
        .collect()
}

/// Names that do something here; those that are known only to be refused are not among them.
fn ours() -> BTreeSet<&'static str> {
    let with_subcommands = |spec: &'static Spec| std::iter::once(spec).chain(spec.subcommands);
    let specs = COMMANDS.iter().flat_map(with_subcommands);
    specs
        .filter(|spec| !spec.is_hidden)
        .map(|spec| spec.name)
        .collect()
}

/// Whether a release has a command.
type IsIn = fn(&Named) -> bool;

/// What the rows of a table have in common, and the commands.
type Rows<'a> = BTreeMap<(bool, &'a str, &'a str, &'a str), Vec<String>>;

fn chapter(title: &str, named: &[&Named], ours: &BTreeSet<&str>) -> String {
    let mut rows = Rows::new();
    for it in named {
        let is_missing = !ours.contains(it.name.as_str());
        let why = match it.reason() {
            Some((_, why)) if is_missing => why,
            _ => "",
        };
        rows.entry((is_missing, it.redis.as_str(), it.valkey.as_str(), why))
            .or_default()
            .push(it.shown());
    }
    let mut out = format!(
        "\n## {title}\n| Commands | Redis | Valkey | Here | Why |\n|---|---|---|---|---|\n"
    );
    for ((is_missing, redis, valkey, why), names) in rows {
        let here = if is_missing { "no" } else { "yes" };
        let _ = writeln!(
            out,
            "| {} | {redis} | {valkey} | {here} | {why} |",
            names.join(" ")
        );
    }
    out
}

fn page(theirs: &[Named], ours: &BTreeSet<&str>) -> String {
    let mut out = format!(
        "# All commands of Redis and Valkey
Every command and subcommand of Redis 7.2 to 8.12 and of Valkey 9: whether it is here, and if not, why. `7.2`, `8.4` or `9.1` is the release that has it first;
7.2 and 9.0 stand for earlier ones too. What those that are here do otherwise than there is in [commands.md](commands.md#where-replies-differ-from-redis-server-70).

This page is made of the table of commands (`command/src/table.rs`) and of the names in `crates/command/testdata/names-of-redis-and-valkey.txt`; a test fails
where it is not what they say. `{HOW}` writes it anew.

| | Commands and subcommands | Here |
|---|---|---|
"
    );
    let releases: [(&str, IsIn); 3] = [
        ("Redis 7.2", |it| it.redis == "7.2"),
        ("Redis 8.12, with its modules", |it| it.redis != "-"),
        ("Valkey 9.1", |it| it.valkey != "-"),
    ];
    for (release, is_in) in releases {
        let of_it = || theirs.iter().filter(|it| is_in(it));
        let here = of_it().filter(|it| ours.contains(it.name.as_str())).count();
        let _ = writeln!(out, "| {release} | {} | {here} |", of_it().count());
    }
    for (name, title) in CHAPTERS {
        let named: Vec<&Named> = theirs.iter().filter(|it| it.chapter == name).collect();
        out += &chapter(title, &named, ours);
    }
    let known: BTreeSet<&str> = theirs.iter().map(|it| it.name.as_str()).collect();
    let alone: Vec<String> = ours.difference(&known).map(|it| shown(it)).collect();
    let _ = writeln!(out, "\n## Ours alone\n{}", alone.join(" "));
    out
}

#[test]
fn the_page_of_all_commands_is_current() {
    let page = page(&theirs(), &ours());
    if std::env::var_os("BRICKYARD_REFRESH").is_some() {
        std::fs::write(path(PAGE), &page).expect("the page can be rewritten");
    }
    let there = std::fs::read_to_string(path(PAGE)).expect("the page");
    assert!(
        there == page,
        "docs/all-commands.md is not what the table of commands says: {HOW}"
    );
}

#[test]
fn a_command_that_is_not_here_has_a_reason() {
    let ours = ours();
    let mut used = BTreeSet::new();
    for it in theirs() {
        assert!(
            CHAPTERS.iter().any(|(name, _)| *name == it.chapter),
            "{} is in no chapter",
            it.name
        );
        if !ours.contains(it.name.as_str()) {
            let reason = it.reason();
            let (whose, _) = reason
                .unwrap_or_else(|| panic!("{} is not here, and REASONS does not say why", it.name));
            used.insert(*whose);
        }
    }
    for (whose, _) in REASONS {
        assert!(
            used.contains(whose),
            "nothing needs the reason of {whose} any more: take it out"
        );
    }
}
