//! The subcommands of TABLE, which are Brickyard's own.

use super::options::options;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::table::CommandId;
use brickyard_types::{
    Durability, Eviction, HashFunction, KeyBounds, Leases, Medium, ParseAttributeError, Placement,
    TableAttributes,
};
use std::collections::BTreeSet;
use std::fmt;

/// What TABLE is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableCommand<'a> {
    /// Change attributes of a table.
    Alter(&'a str, TableOptions),
    /// The keys with the largest values.
    BigKeys {
        /// The table.
        name: &'a str,
        /// Most keys to return.
        count: usize,
    },
    /// Make a table.
    Create(&'a str, TableOptions),
    /// The attributes and size of a table.
    Describe(&'a str),
    /// What this brick's replicas hold, from a cursor on.
    Digest {
        /// The table.
        name: &'a str,
        /// Where to go on.
        from: DigestCursor,
    },
    /// Remove a table and its keys; the name was given twice.
    Drop(&'a str),
    /// The partitions of a table that this brick can export.
    Exportable(&'a str),
    /// A partition as it is now, a piece at a time.
    Export {
        /// The table.
        name: &'a str,
        /// The partition.
        partition: u32,
        /// Which piece.
        piece: ExportPiece,
    },
    /// The subcommands.
    Help,
    /// The keys that are asked for most.
    HotKeys {
        /// The table.
        name: &'a str,
        /// Most keys to return.
        count: usize,
    },
    /// The names of the tables.
    List,
    /// Free a table's memory, and keep what it holds.
    Offline {
        /// The table.
        name: &'a str,
        /// Even where it has fewer copies than it asks for.
        force: bool,
    },
    /// Serve a table again.
    Online(&'a str),
    /// Go on from what is left of partitions that nobody serves.
    Recover {
        /// The table.
        name: &'a str,
        /// Which partitions; none: all.
        partitions: Vec<u32>,
        /// The name was given twice.
        is_confirmed: bool,
    },
    /// Make two partitions of one.
    Split {
        /// The table.
        name: &'a str,
        /// Which partition.
        partition: u32,
    },
    /// Make one partition of two.
    Merge {
        /// The table.
        name: &'a str,
        /// Either of the two.
        partition: u32,
    },
    /// Let this connection work on a table.
    Use(&'a str),
}

/// The attributes that a request names; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// `MEDIUM ram|disk`
    pub medium: Option<Medium>,
    /// `DURABILITY memory|log|fsync`
    pub durability: Option<Durability>,
    /// `REPLICAS n|auto`
    pub replicas: Option<ReplicaCount>,
    /// `MIN_IN_SYNC n`
    pub min_in_sync: Option<u8>,
    /// `PARTITIONS n`; only when a table is made.
    pub partitions: Option<u32>,
    /// `PARTITIONS auto|fixed`: as many as the bricks need, or as many as there are.
    pub sizing: Option<Sizing>,
    /// `MAXMEMORY bytes`; `Some(None)` takes the bound away (`MAXMEMORY 0`).
    pub maxmemory: Option<Option<u64>>,
    /// `EVICT none|lru`
    pub evict: Option<Eviction>,
    /// `PLACEMENT even|ring|ring:n`
    pub placement: Option<Placement>,
    /// `NODES n,n,...`, by their numbers; of `NODES all` there are none.
    pub nodes: Option<BTreeSet<u32>>,
    /// `PARTITION_BYTES bytes`; `Some(None)`: what each node is set to (`PARTITION_BYTES default`).
    pub partition_bytes: Option<Option<u64>>,
    /// `LEASES on|off`
    pub leases: Option<bool>,
    /// `HASH slot|keyed|key64|ordered`; only when a table is made.
    pub hash: Option<HashFunction>,
    /// `FROM key TO key`, of `HASH ordered`; only when a table is made.
    pub bounds: Option<KeyBounds>,
    /// `HISTORY bytes`: how much of its committed changes each partition keeps; 0: none.
    pub history: Option<u64>,
}

/// How many copies a table has from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaCount {
    /// One on each node, up to the number that the node which is asked is set to.
    Auto,
    /// So many.
    Fixed(u8),
}

/// How many partitions a table has from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// As many as its bricks need: more when nodes have joined.
    Auto,
    /// As many as it has; those that grow are split all the same.
    Fixed,
}

impl<'a> TableCommand<'a> {
    /// Reads the arguments of a subcommand of TABLE.
    ///
    /// Whether a name is a good one, and whether its table is there, is for the catalog to say.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    ///
    /// # Panics
    /// If `id` is no subcommand of TABLE.
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::TableAlter => {
                let options = TableOptions::parse(args)?;
                if options.partitions.is_some() {
                    return Err(ErrorReply::constant(
                        "ERR PARTITIONS is a number only when a table is made; use auto (as many as the bricks need) or fixed (no \
                         more than there are)",
                    ));
                }
                if options.hash.is_some() || options.bounds.is_some() {
                    return Err(ErrorReply::constant(
                        "ERR HASH, FROM and TO are fixed when a table is made, since they say where its keys are; make another table and copy the keys",
                    ));
                }
                if options.sizing.is_some() && args.len() > 5 {
                    return Err(ErrorReply::constant(
                        "ERR PARTITIONS auto and fixed are another kind of change; say them in a TABLE ALTER of their own",
                    ));
                }
                Self::Alter(name(args)?, options)
            }
            CommandId::TableBigkeys => Self::BigKeys {
                name: name(args)?,
                count: keys_count(args)?,
            },
            CommandId::TableCreate => {
                let options = TableOptions::parse(args)?;
                if options.sizing == Some(Sizing::Fixed) && options.partitions.is_none() {
                    return Err(ErrorReply::constant(
                        "ERR PARTITIONS fixed is for a table that is there; give a new one the number that it is to keep",
                    ));
                }
                Self::Create(name(args)?, options)
            }
            CommandId::TableDescribe => Self::Describe(name(args)?),
            CommandId::TableDigest => Self::Digest {
                name: name(args)?,
                from: DigestCursor::parse(args)?,
            },
            CommandId::TableDrop => Self::Drop(confirmed_name(args)?),
            CommandId::TableExport => export(args)?,
            CommandId::TableHelp => Self::Help,
            CommandId::TableHotkeys => Self::HotKeys {
                name: name(args)?,
                count: keys_count(args)?,
            },
            CommandId::TableList => Self::List,
            CommandId::TableMerge => Self::Merge {
                name: name(args)?,
                partition: partition(args)?,
            },
            CommandId::TableOffline => Self::Offline {
                name: name(args)?,
                force: force(args)?,
            },
            CommandId::TableOnline => Self::Online(name(args)?),
            CommandId::TableRecover => recovery(args)?,
            CommandId::TableSplit => Self::Split {
                name: name(args)?,
                partition: partition(args)?,
            },
            CommandId::TableUse => Self::Use(name(args)?),
            _ => panic!("{id:?} is no subcommand of TABLE"),
        })
    }
}

/// What `TABLE EXPORT` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportPiece {
    /// The first piece of the partition as it is now; of records up to this op without their values.
    First(Option<u64>),
    /// The piece after the one that this connection had last.
    Next,
}

/// Where `TABLE DIGEST` goes on; `0`, or two numbers with a dash between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestCursor {
    /// The partition's place among those of the table.
    pub leaf: usize,
    /// The place in it.
    pub position: u64,
}

impl DigestCursor {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let Some(word) = args.get(3) else {
            return Ok(Self::default());
        };
        let text = std::str::from_utf8(word).unwrap_or_default();
        let (leaf, position) = text.split_once('-').unwrap_or((text, "0"));
        let cursor = leaf.parse().ok().zip(position.parse().ok());
        let cursor = cursor.filter(|_| args.len() == 4);
        cursor
            .map(|(leaf, position)| Self { leaf, position })
            .ok_or_else(|| {
                ErrorReply::constant(
                    "ERR TABLE DIGEST takes a table's name and the cursor of its last reply, 0 to begin with",
                )
            })
    }
}

impl fmt::Display for DigestCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.leaf, self.position)
    }
}

fn name(args: Args<'_>) -> Result<&str, ErrorReply> {
    std::str::from_utf8(args.at(2)).map_err(|_| {
        ErrorReply::constant("ERR the table's name is not text; use letters and digits")
    })
}

/// How many keys `TABLE HOTKEYS` and `TABLE BIGKEYS` return: `COUNT n`, or some.
fn keys_count(args: Args<'_>) -> Result<usize, ErrorReply> {
    const USUAL: usize = 10;
    const MOST: usize = 100;
    let count = match args.len() {
        3 => Some(USUAL),
        5 if args.at(3).eq_ignore_ascii_case(b"count") => {
            let text = std::str::from_utf8(args.at(4)).ok();
            text.and_then(|it| it.parse().ok())
        }
        _ => None,
    };
    let count = count.filter(|it| (1..=MOST).contains(it));
    count.ok_or(ErrorReply::constant(
        "ERR TABLE HOTKEYS and TABLE BIGKEYS take a table's name, and COUNT with how many keys are wanted, 1 to 100",
    ))
}

fn force(args: Args<'_>) -> Result<bool, ErrorReply> {
    match args.len() {
        3 => Ok(false),
        4 if args.at(3).eq_ignore_ascii_case(b"force") => Ok(true),
        _ => Err(ErrorReply::constant(
            "ERR TABLE OFFLINE takes a table's name, and FORCE for one that lacks copies",
        )),
    }
}

fn export(args: Args<'_>) -> Result<TableCommand<'_>, ErrorReply> {
    const WRONG: ErrorReply = ErrorReply::constant(
        "ERR TABLE EXPORT takes a table's name, and to read one of its partitions that one's number, and then nothing or \
         AFTER op for the first piece and NEXT for each further one",
    );
    if args.len() == 3 {
        return Ok(TableCommand::Exportable(name(args)?));
    }
    let number = |at: usize| std::str::from_utf8(args.at(at)).ok()?.parse::<u64>().ok();
    let partition = number(3).and_then(|it| u32::try_from(it).ok());
    let piece = match args.len() {
        4 => Some(ExportPiece::First(None)),
        5 if args.at(4).eq_ignore_ascii_case(b"next") => Some(ExportPiece::Next),
        6 if args.at(4).eq_ignore_ascii_case(b"after") => {
            number(5).map(|op| ExportPiece::First(Some(op)))
        }
        _ => None,
    };
    let (Some(partition), Some(piece)) = (partition, piece) else {
        return Err(WRONG);
    };
    Ok(TableCommand::Export {
        name: name(args)?,
        partition,
        piece,
    })
}

fn recovery(args: Args<'_>) -> Result<TableCommand<'_>, ErrorReply> {
    let name = name(args)?;
    let last = args.len() - 1;
    let is_confirmed = last > 3
        && args.at(last - 1).eq_ignore_ascii_case(b"confirm")
        && args.at(last) == name.as_bytes();
    let end = if is_confirmed { last - 1 } else { args.len() };
    let mut partitions = Vec::new();
    for word in args.from(3).take(end - 3) {
        let number = std::str::from_utf8(word)
            .ok()
            .and_then(|it| it.parse().ok());
        partitions.push(number.ok_or_else(|| {
            ErrorReply::new(format!(
                "ERR '{}' is no partition; say: TABLE RECOVER {name} [partition ...] [CONFIRM {name}]",
                String::from_utf8_lossy(word)
            ))
        })?);
    }
    Ok(TableCommand::Recover {
        name,
        partitions,
        is_confirmed,
    })
}

fn partition(args: Args<'_>) -> Result<u32, ErrorReply> {
    let word = String::from_utf8_lossy(args.at(3));
    word.parse().map_err(|_| {
        ErrorReply::new(format!(
            "ERR '{word}' is no partition; TABLE SPLIT takes a table's name and the number of one of its partitions"
        ))
    })
}

fn confirmed_name(args: Args<'_>) -> Result<&str, ErrorReply> {
    let name = name(args)?;
    let is_confirmed = args.at(3).eq_ignore_ascii_case(b"confirm") && args.at(4) == name.as_bytes();
    if is_confirmed {
        Ok(name)
    } else {
        Err(ErrorReply::new(format!(
            "ERR dropping a table removes its keys for ever; to do it, say: TABLE DROP {name} \
             CONFIRM {name}"
        )))
    }
}

impl TableOptions {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        let (mut from, mut to) = (None, None);
        for option in options(args) {
            let (shown, value) = option?;
            let is = |word: &str| shown.eq_ignore_ascii_case(word);
            if is("medium") {
                parsed.medium = Some(value.parse().map_err(refused)?);
            } else if is("durability") {
                parsed.durability = Some(value.parse().map_err(refused)?);
            } else if is("evict") {
                parsed.evict = Some(value.parse().map_err(refused)?);
            } else if is("replicas") && value.eq_ignore_ascii_case("auto") {
                parsed.replicas = Some(ReplicaCount::Auto);
            } else if is("replicas") {
                let replicas = count("REPLICAS", &value, u64::from(u8::MAX))? as u8;
                parsed.replicas = Some(ReplicaCount::Fixed(replicas));
            } else if is("min_in_sync") {
                parsed.min_in_sync = Some(count("MIN_IN_SYNC", &value, u64::from(u8::MAX))? as u8);
            } else if is("partitions") && value.eq_ignore_ascii_case("auto") {
                parsed.sizing = Some(Sizing::Auto);
            } else if is("partitions") && value.eq_ignore_ascii_case("fixed") {
                parsed.sizing = Some(Sizing::Fixed);
            } else if is("partitions") {
                parsed.partitions = Some(count("PARTITIONS", &value, PARTITIONS_MAX)? as u32);
            } else if is("maxmemory") {
                let bytes = bytes("MAXMEMORY", &value, "0 for no bound")?;
                parsed.maxmemory = Some(Some(bytes).filter(|bytes| *bytes > 0));
            } else if is("placement") {
                parsed.placement = Some(value.parse().map_err(refused)?);
            } else if is("nodes") {
                parsed.nodes = Some(nodes(&value)?);
            } else if is("partition_bytes") {
                let is_default = value.eq_ignore_ascii_case("default");
                let remedy = "0 for partitions that are never split by themselves, default for what each node is set to";
                let own = (!is_default).then(|| bytes("PARTITION_BYTES", &value, remedy));
                parsed.partition_bytes = Some(own.transpose()?);
            } else if is("leases") {
                parsed.leases = Some(Leases::is_on(&value).map_err(refused)?);
            } else if is("history") {
                parsed.history = Some(history(&value)?);
            } else if is("hash") {
                parsed.hash = Some(value.parse().map_err(refused)?);
            } else if is("from") {
                from = Some(value);
            } else if is("to") {
                to = Some(value);
            } else {
                return Err(ErrorReply::new(format!(
                    "ERR unknown option '{shown}'; use MEDIUM, DURABILITY, REPLICAS, MIN_IN_SYNC, \
                     PARTITIONS, MAXMEMORY, EVICT, PLACEMENT, NODES, PARTITION_BYTES, HISTORY, LEASES, HASH, FROM or TO"
                )));
            }
        }
        parsed.bounds = parsed.bounds_of(from.as_deref(), to.as_deref())?;
        Ok(parsed)
    }

    /// `FROM` and `TO`, which are for `HASH ordered`.
    fn bounds_of(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Option<KeyBounds>, ErrorReply> {
        match (from, to) {
            (None, None) => Ok(None),
            (Some(from), Some(to)) if self.hash == Some(HashFunction::Ordered) => {
                let bounds = KeyBounds::new(from, to);
                let bounds = bounds.map_err(|error| ErrorReply::new(format!("ERR {error}")))?;
                Ok(Some(bounds))
            }
            _ => Err(ErrorReply::constant(
                "ERR FROM and TO are the lowest and the highest key of a table that is made with HASH ordered; say all three",
            )),
        }
    }

    /// Puts the attributes that the request names in the place of `attributes`' own.
    pub fn apply_to(&self, attributes: &mut TableAttributes) {
        attributes.medium = self.medium.unwrap_or(attributes.medium);
        attributes.durability = self.durability.unwrap_or(attributes.durability);
        // Of `auto` the catalog makes a number.
        if let Some(ReplicaCount::Fixed(replicas)) = self.replicas {
            attributes.replicas = replicas;
        }
        // What is inherited must not be in the way of what is asked for.
        let inherited = attributes.min_in_sync.min(attributes.replicas);
        attributes.min_in_sync = self.min_in_sync.unwrap_or(inherited);
        attributes.maxmemory = self.maxmemory.unwrap_or(attributes.maxmemory);
        attributes.evict = self.evict.unwrap_or(attributes.evict);
        attributes.history = self.history.unwrap_or(attributes.history);
    }
}

/// What a partition keeps of its changes is in memory, beside what it holds.
const HISTORY_BYTES_MAX: u64 = 1 << 30;

/// Leaves of a trie of the greatest depth.
const PARTITIONS_MAX: u64 = 1 << brickyard_types::limits::PARTITION_DEPTH_MAX;

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn refused(error: ParseAttributeError) -> ErrorReply {
    ErrorReply::new(format!("ERR {error}"))
}

fn count(attribute: &str, text: &str, most: u64) -> Result<u64, ErrorReply> {
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| {
        ErrorReply::new(format!(
            "ERR {attribute} is '{text}'; use a number from 1 to {most}"
        ))
    })
}

/// Reads numbers of nodes, or `all`.
fn nodes(text: &str) -> Result<BTreeSet<u32>, ErrorReply> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(BTreeSet::new());
    }
    let numbers = text.split(',').map(str::parse);
    numbers.collect::<Result<_, _>>().map_err(|_| {
        ErrorReply::new(format!(
            "ERR NODES is '{text}'; use the numbers of nodes with commas between, as NODE LIST shows them, or all"
        ))
    })
}

/// Reads how much of its changes a partition keeps.
fn history(text: &str) -> Result<u64, ErrorReply> {
    let bytes = bytes("HISTORY", text, "0 to keep no changes")?;
    if bytes > HISTORY_BYTES_MAX {
        return Err(ErrorReply::new(format!(
            "ERR HISTORY is '{text}', and a partition keeps {} mb of its changes at most; use less",
            HISTORY_BYTES_MAX >> 20
        )));
    }
    Ok(bytes)
}

/// Reads a number of bytes in the units of `redis.conf`: `k` is 1000, `kb` is 1024, and so on.
fn bytes(attribute: &str, text: &str, others: &str) -> Result<u64, ErrorReply> {
    const UNITS: [(&str, u64); 9] = [
        ("", 1),
        ("b", 1),
        ("k", 1_000),
        ("kb", 1 << 10),
        ("m", 1_000_000),
        ("mb", 1 << 20),
        ("g", 1_000_000_000),
        ("gb", 1 << 30),
        ("tb", 1 << 40),
    ];
    let digits = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor = UNITS
        .iter()
        .find(|(name, _)| unit.eq_ignore_ascii_case(name))
        .map(|(_, factor)| *factor);
    let number = number.parse::<u64>().ok();
    number
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| {
            ErrorReply::new(format!(
                "ERR {attribute} is '{text}'; use a number of bytes, or one with a unit as in 500mb \
                 or 2gb ({others})"
            ))
        })
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
