//! `brickyard table`: the TABLE commands of a server, from the shell.
//!
//! In:  a verb and a table's attributes. Out: the server's reply, as indented text.
//! Not here: what the attributes mean; the server checks them, and its words are passed on.

use crate::{
    cmd::digest,
    reply_text::{as_map, render},
    target::{ADDRESS_DEFAULT, TargetArguments},
};
use anyhow::bail;
use brickyard_bench::Link;
use brickyard_wire::Value;
use clap::{Args, Subcommand};
use std::{
    fmt::Write as _,
    io::{self, Write},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

/// How often something is asked for again that takes its time.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// How long the bricks may take to say what they hold.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// In what a server says of a recovery: that it does not know yet what the bricks hold,
const STILL_ASKED: &str = "are being asked what they hold";

/// or what it would come to.
const PLAN: &str = "nothing was done; it would come to this";

/// What `brickyard table` takes.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Node to ask, HOST:PORT
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, global = true)]
    address: String,
    #[command(flatten)]
    target: TargetArguments,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the tables.
    List,
    /// Make a table.
    Create {
        /// Its name.
        name: String,
        #[command(flatten)]
        attributes: Attributes,
    },
    /// Show a table's attributes and counts.
    Describe {
        /// Its name.
        name: String,
    },
    /// Show the keys that are asked for most, by a sample of the last seconds.
    Hotkeys {
        /// Its name.
        name: String,
        /// Most keys to show, up to 100
        #[arg(long, value_name = "N", default_value_t = 10)]
        count: u32,
    },
    /// Show the keys with the largest values, as far as the bricks have walked over the table.
    Bigkeys {
        /// Its name.
        name: String,
        /// Most keys to show, up to 100
        #[arg(long, value_name = "N", default_value_t = 10)]
        count: u32,
    },
    /// Compare what the replicas of each partition hold.
    Digest {
        /// Its name.
        name: String,
        /// Seconds to wait for replicas that are behind, or that are written to
        #[arg(long, value_name = "SECONDS", default_value_t = 10)]
        patience: u64,
        /// Show every partition, also those whose replicas hold the same
        #[arg(long)]
        all: bool,
    },
    /// Change a table's attributes.
    Alter {
        /// Its name.
        name: String,
        #[command(flatten)]
        attributes: Attributes,
    },
    /// Let partitions that nobody serves go on from what is left of them; first tells what would be lost.
    Recover {
        /// The table's name.
        name: String,
        /// Partitions; without any, all that nobody serves
        partitions: Vec<u32>,
        /// The name once more: what is missing is lost for ever then
        #[arg(long, value_name = "NAME")]
        confirm: Option<String>,
    },
    /// Make two partitions of one, where it is; by itself that happens to partitions that have grown.
    Split {
        /// The table's name.
        name: String,
        /// The partition's number
        partition: u32,
    },
    /// Make one partition of two that came from one; by itself that happens to partitions that have shrunk. Where they are on
    /// different bricks one is brought to the other first, as long as this command runs.
    Merge {
        /// The table's name.
        name: String,
        /// The number of either of the two
        partition: u32,
    },
    /// Free a table's memory; its keys stay in the logs, and nobody can read or write them until it is online again.
    Offline {
        /// Its name.
        name: String,
        /// Also if it has fewer copies than it asks for
        #[arg(long)]
        force: bool,
    },
    /// Bring a table back into memory, from the logs.
    Online {
        /// Its name.
        name: String,
    },
    /// Drop a table and everything in it.
    Drop {
        /// Its name.
        name: String,
        /// The name once more: what is dropped cannot be brought back
        #[arg(long, value_name = "NAME")]
        confirm: String,
    },
}

/// What a table is asked to be; what is left out keeps its default or its present value.
#[derive(Args, Debug, Default)]
struct Attributes {
    /// Where values live: ram or disk
    #[arg(long)]
    medium: Option<String>,
    /// What an acknowledged write survives: memory, log or fsync
    #[arg(long)]
    durability: Option<String>,
    /// Copies of every partition; auto: on each node one, up to the setting default_replicas
    #[arg(long, value_name = "N|auto")]
    replicas: Option<String>,
    /// Copies in sync without which writes are refused
    #[arg(long, value_name = "N")]
    min_in_sync: Option<u32>,
    /// Partitions of a new table; auto (as many as its bricks need) or fixed for one that is there
    #[arg(long, value_name = "N|auto|fixed")]
    partitions: Option<String>,
    /// Limit on the table's memory, in bytes, also as 500mb or 2gb; 0 means none
    #[arg(long, value_name = "BYTES")]
    maxmemory: Option<String>,
    /// What to do at the limit: none refuses writes, lru makes room
    #[arg(long, value_name = "none|lru")]
    evict: Option<String>,
    /// By which rule partitions are placed: even, ring, or ring:N for N points a brick
    #[arg(long, value_name = "RULE")]
    placement: Option<String>,
    /// Numbers of the nodes that may hold its partitions, as in 1,2,3; or all
    #[arg(long, value_name = "N,...|all")]
    nodes: Option<String>,
    /// Bytes that a partition may have before it is split; 0: never; default: as each node is set
    #[arg(long, value_name = "BYTES|default")]
    partition_bytes: Option<String>,
    /// Whether clients may keep what they read under leases: on or off
    #[arg(long, value_name = "on|off")]
    leases: Option<String>,
    /// What decides where a key of a new table goes: slot (as cluster clients know it), keyed (nobody can aim at a partition), key64
    /// (keys of eight bytes as they are) or ordered (partitions are runs of keys)
    #[arg(long, value_name = "slot|keyed|key64|ordered")]
    hash: Option<String>,
    /// Lowest key that a new table with --hash ordered will have
    #[arg(long, value_name = "KEY", requires = "to")]
    from: Option<String>,
    /// Highest key that it will have
    #[arg(long, value_name = "KEY", requires = "from")]
    to: Option<String>,
    /// Bytes of its committed changes that each partition keeps for who follows it, also as 1mb; 0: none
    #[arg(long, value_name = "BYTES")]
    history: Option<String>,
}

impl Attributes {
    fn words(&self) -> Vec<String> {
        let in_sync = self.min_in_sync.map(|number| number.to_string());
        let words = [
            ("MEDIUM", self.medium.clone()),
            ("DURABILITY", self.durability.clone()),
            ("PARTITIONS", self.partitions.clone()),
            ("MAXMEMORY", self.maxmemory.clone()),
            ("EVICT", self.evict.clone()),
            ("PLACEMENT", self.placement.clone()),
            ("NODES", self.nodes.clone()),
            ("PARTITION_BYTES", self.partition_bytes.clone()),
            ("HISTORY", self.history.clone()),
            ("REPLICAS", self.replicas.clone()),
            ("MIN_IN_SYNC", in_sync),
            ("LEASES", self.leases.clone()),
            ("HASH", self.hash.clone()),
            ("FROM", self.from.clone()),
            ("TO", self.to.clone()),
        ];
        words
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| [name.to_owned(), value]))
            .flatten()
            .collect()
    }
}

impl Verb {
    /// The command that the server is sent.
    fn request(&self) -> Vec<String> {
        let words = |verb: &str, name: &str, rest: Vec<String>| {
            let start = [verb.to_owned(), name.to_owned()];
            start.into_iter().chain(rest).collect::<Vec<_>>()
        };
        let mut request = vec!["TABLE".to_owned()];
        request.extend(match self {
            Self::List => vec!["LIST".to_owned()],
            Self::Create { name, attributes } => words("CREATE", name, attributes.words()),
            Self::Describe { name } => words("DESCRIBE", name, Vec::new()),
            Self::Hotkeys { name, count } => words("HOTKEYS", name, counted(*count)),
            Self::Bigkeys { name, count } => words("BIGKEYS", name, counted(*count)),
            // What is asked of each brick to begin with.
            Self::Digest { name, .. } => words("DIGEST", name, Vec::new()),
            Self::Alter { name, attributes } => words("ALTER", name, attributes.words()),
            Self::Recover {
                name,
                partitions,
                confirm,
            } => {
                let mut rest: Vec<String> = partitions.iter().map(u32::to_string).collect();
                if let Some(confirm) = confirm {
                    rest.extend(["CONFIRM".to_owned(), confirm.clone()]);
                }
                words("RECOVER", name, rest)
            }
            Self::Split { name, partition } => words("SPLIT", name, vec![partition.to_string()]),
            Self::Merge { name, partition } => words("MERGE", name, vec![partition.to_string()]),
            Self::Offline { name, force } => {
                let force = force.then(|| "FORCE".to_owned());
                words("OFFLINE", name, force.into_iter().collect())
            }
            Self::Online { name } => words("ONLINE", name, Vec::new()),
            Self::Drop { name, confirm } => {
                words("DROP", name, vec!["CONFIRM".to_owned(), confirm.clone()])
            }
        });
        request
    }
}

/// Sends the command and prints the reply.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let target = arguments.target.target(&arguments.address)?;
    if let Verb::Digest {
        name,
        patience,
        all,
    } = &arguments.verb
    {
        return digest::run(&target, name, Duration::from_secs(*patience), *all);
    }
    let mut link = Link::open(&target)?;
    let request = arguments.verb.request();
    let mut reply = call(&mut link, &request)?;
    if matches!(arguments.verb, Verb::Recover { .. }) {
        let until = Instant::now() + ANSWERS_WITHIN;
        while is_error_about(&reply, STILL_ASKED) && Instant::now() < until {
            thread::sleep(ASKED_EVERY);
            reply = call(&mut link, &request)?;
        }
        if is_error_about(&reply, PLAN) {
            let text = reply.error().unwrap_or_default();
            io::stdout().write_all(plan(&String::from_utf8_lossy(text)).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    if let Value::Error(text) = &reply {
        bail!(
            "{} refused {}: {}",
            target.address,
            request.join(" "),
            String::from_utf8_lossy(text)
        );
    }
    let text = match arguments.verb {
        Verb::Describe { .. } => render(&as_map(reply)),
        Verb::Hotkeys { .. } => ranked(&reply, "commands a second"),
        Verb::Bigkeys { .. } => ranked(&reply, "bytes"),
        _ => render(&reply),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a reply is an error with these words.
fn is_error_about(reply: &Value, words: &str) -> bool {
    let text = reply.error().unwrap_or_default();
    String::from_utf8_lossy(text).contains(words)
}

fn counted(count: u32) -> Vec<String> {
    vec!["COUNT".to_owned(), count.to_string()]
}

/// Keys, a line each behind its figure.
fn ranked(reply: &Value, unit: &str) -> String {
    let Value::Array(entries) = reply else {
        return render(reply);
    };
    let mut out = format!("{unit:>17}  key\n");
    for entry in entries {
        if let Value::Array(pair) = entry
            && let [key, figure] = &pair[..]
        {
            let (key, figure) = (render(key), render(figure));
            let _ = writeln!(out, "{:>17}  {}", figure.trim_end(), key.trim_end());
        }
    }
    out
}

/// What a recovery would come to, a line each.
fn plan(text: &str) -> String {
    let text = text.strip_prefix("ERR ").unwrap_or(text);
    let mut out = String::new();
    for line in text.split("; partition ") {
        let is_first = out.is_empty();
        out += if is_first { "" } else { "\n  partition " };
        out += line;
    }
    let end = out.replace(". To do it, repeat", ".\nTo do it, repeat");
    end.replace(": partition ", ":\n  partition ") + "\n"
}

/// The reply to a request, which is asked again as long as that is what the server wants: siblings that are to be merged are
/// brought together for as long as somebody asks for it.
fn call(link: &mut Link, request: &[String]) -> anyhow::Result<Value> {
    let mut is_told = false;
    loop {
        let reply = link.call(request)?;
        let Value::Error(text) = &reply else {
            return Ok(reply);
        };
        if !text.starts_with(b"TRYAGAIN ") {
            return Ok(reply);
        }
        if !std::mem::replace(&mut is_told, true) {
            let text = String::from_utf8_lossy(text);
            eprintln!("waiting, and asking again every second: {text}");
        }
        thread::sleep(ASKED_EVERY);
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
