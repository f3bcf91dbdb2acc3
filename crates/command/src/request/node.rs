//! The subcommands of NODE and REBALANCE, which are Brickyard's own.

use super::options::options;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::table::CommandId;

/// What NODE is asked to do. Nodes are named by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeCommand {
    /// Change what a node is used for.
    Alter(u32, NodeOptions),
    /// Empty a node.
    Drain {
        /// Which.
        node: u32,
        /// Even if there are fewer copies then than tables ask for.
        force: bool,
    },
    /// The subcommands.
    Help,
    /// The nodes.
    List,
    /// Take a node out for ever.
    Remove {
        /// Which.
        node: u32,
        /// Even if it holds something.
        force: bool,
    },
    /// Let one node take over what another one holds.
    Replace {
        /// The one that is emptied.
        old: u32,
        /// The one that takes its place.
        new: u32,
    },
}

/// What is to be changed of a node; `None` where the request says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOptions {
    /// `WEIGHT n`
    pub weight: Option<u32>,
    /// `ZONE name`; `Some(None)` takes it away (`ZONE ""`).
    pub zone: Option<Option<String>>,
    /// `CONTROL yes|no`: whether it may vote on the catalog.
    pub control: Option<bool>,
    /// `STORAGE yes|no`: whether it may hold partitions.
    pub storage: Option<bool>,
    /// `GATEWAY yes|no`: whether it is for clients that know nothing of the maps.
    pub gateway: Option<bool>,
}

/// What a node may be used for.
const ROLES: [&str; 3] = ["storage", "control", "gateway"];

/// What REBALANCE is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebalanceCommand {
    /// The subcommands.
    Help,
    /// Begin no more moves.
    Pause,
    /// What has to move.
    Plan,
    /// Begin moves again.
    Resume,
    /// How much has to move.
    Status,
}

impl NodeCommand {
    /// Reads the arguments of a subcommand of NODE.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    ///
    /// # Panics
    /// If `id` is no subcommand of NODE.
    pub fn parse(id: CommandId, args: Args<'_>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::NodeAlter => Self::Alter(node(args.at(2))?, NodeOptions::parse(args)?),
            CommandId::NodeDrain => Self::Drain {
                node: node(args.at(2))?,
                force: is_forced(args)?,
            },
            CommandId::NodeHelp => Self::Help,
            CommandId::NodeList => Self::List,
            CommandId::NodeRemove => Self::Remove {
                node: node(args.at(2))?,
                force: is_forced(args)?,
            },
            CommandId::NodeReplace => Self::Replace {
                old: node(args.at(2))?,
                new: node(args.at(3))?,
            },
            _ => panic!("{id:?} is no subcommand of NODE"),
        })
    }
}

impl RebalanceCommand {
    /// Which subcommand of REBALANCE it is; none has arguments.
    ///
    /// # Panics
    /// If `id` is no subcommand of REBALANCE.
    #[must_use]
    pub fn of(id: CommandId) -> Self {
        match id {
            CommandId::RebalanceHelp => Self::Help,
            CommandId::RebalancePause => Self::Pause,
            CommandId::RebalancePlan => Self::Plan,
            CommandId::RebalanceResume => Self::Resume,
            CommandId::RebalanceStatus => Self::Status,
            _ => panic!("{id:?} is no subcommand of REBALANCE"),
        }
    }
}

impl NodeOptions {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        for option in options(args) {
            let (shown, value) = option?;
            let is = |word: &str| shown.eq_ignore_ascii_case(word);
            if is("weight") {
                let weight = value.parse().map_err(|_| {
                    ErrorReply::new(format!(
                        "ERR WEIGHT is '{value}'; use a number, 0 for a node that is to hold nothing"
                    ))
                })?;
                parsed.weight = Some(weight);
            } else if is("zone") {
                parsed.zone = Some(Some(value.into_owned()).filter(|zone| !zone.is_empty()));
            } else if is("control") {
                parsed.control = Some(yes_or_no("CONTROL", &value)?);
            } else if is("storage") {
                parsed.storage = Some(yes_or_no("STORAGE", &value)?);
            } else if is("gateway") {
                parsed.gateway = Some(yes_or_no("GATEWAY", &value)?);
            } else if is("roles") {
                let roles = roles(&value)?;
                let has = |role: &str| Some(roles.iter().any(|it| it == role));
                parsed.storage = has("storage");
                parsed.control = has("control");
                parsed.gateway = has("gateway");
            } else {
                return Err(ErrorReply::new(format!(
                    "ERR unknown option '{shown}'; use WEIGHT, ZONE, ROLES, CONTROL, STORAGE or GATEWAY"
                )));
            }
        }
        Ok(parsed)
    }
}

fn node(word: &[u8]) -> Result<u32, ErrorReply> {
    let number = std::str::from_utf8(word)
        .ok()
        .and_then(|it| it.parse().ok());
    number.ok_or_else(|| {
        ErrorReply::new(format!(
            "ERR '{}' is no node; use its number, as NODE LIST shows it",
            String::from_utf8_lossy(word)
        ))
    })
}

fn is_forced(args: Args<'_>) -> Result<bool, ErrorReply> {
    match args.get(3) {
        None => Ok(false),
        Some(word) if args.len() == 4 && word.eq_ignore_ascii_case(b"force") => Ok(true),
        Some(word) => Err(ErrorReply::new(format!(
            "ERR '{}' is not understood after the node's number; only FORCE may follow it",
            String::from_utf8_lossy(word)
        ))),
    }
}

/// Words for all that a node is used for.
fn roles(text: &str) -> Result<Vec<String>, ErrorReply> {
    let words: Vec<String> = text.split(',').map(str::to_ascii_lowercase).collect();
    let is_role = |word: &String| ROLES.contains(&word.as_str());
    if words.iter().all(is_role) {
        return Ok(words);
    }
    Err(ErrorReply::new(format!(
        "ERR ROLES is '{text}'; use one or more of storage,control,gateway with commas between"
    )))
}

fn yes_or_no(option: &str, value: &str) -> Result<bool, ErrorReply> {
    if value.eq_ignore_ascii_case("yes") {
        Ok(true)
    } else if value.eq_ignore_ascii_case("no") {
        Ok(false)
    } else {
        Err(ErrorReply::new(format!(
            "ERR {option} is '{value}'; use yes or no"
        )))
    }
}

#[cfg(test)]
#[path = "node_test.rs"]
mod node_test;
