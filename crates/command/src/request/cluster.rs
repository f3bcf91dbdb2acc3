//! The subcommands of CLUSTER.

use super::lookup::LookupArgs;
use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::integer;
use crate::table::CommandId;
use brickyard_types::Slot;

/// What CLUSTER is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterCommand<'a> {
    /// Something that operators of Redis Cluster do by hand and that happens by itself here; the
    /// subcommand's name.
    Admin(&'a [u8]),
    /// The number of keys in a slot.
    CountKeysInSlot(Slot),
    /// Up to so many keys of a slot.
    GetKeysInSlot(Slot, usize),
    /// The subcommands.
    Help,
    /// The cluster's state.
    Info,
    /// The slot of a key.
    KeySlot(&'a [u8]),
    /// The connections between nodes.
    Links,
    /// The way to a routing hash; without one, where it may begin.
    Lookup(Option<LookupArgs<'a>>),
    /// The id of this node.
    MyId,
    /// The nodes, one a line.
    Nodes,
    /// The replicas of the node with this id.
    Replicas(&'a [u8]),
    /// Which nodes hold which slots, by replica group.
    Shards,
    /// Which nodes hold which slots, by slot range.
    Slots,
    /// Whether the connection is to be told when the map changes.
    Watch(bool),
}

impl<'a> ClusterCommand<'a> {
    /// Reads the arguments of a subcommand of CLUSTER.
    ///
    /// # Errors
    /// Redis's errors for slots that do not exist.
    ///
    /// # Panics
    /// If `id` is no subcommand of CLUSTER.
    pub fn parse(id: CommandId, args: Args<'a>) -> Result<Self, ErrorReply> {
        Ok(match id {
            CommandId::ClusterAdmin => Self::Admin(args.at(1)),
            CommandId::ClusterCountkeysinslot => {
                let slot = slot(integer(args.at(2))?);
                Self::CountKeysInSlot(slot.ok_or(ErrorReply::constant("ERR Invalid slot"))?)
            }
            CommandId::ClusterGetkeysinslot => {
                let (slot_number, count) = (integer(args.at(2))?, integer(args.at(3))?);
                let count = usize::try_from(count).ok();
                let (slot, count) = slot(slot_number)
                    .zip(count)
                    .ok_or(ErrorReply::constant("ERR Invalid slot or number of keys"))?;
                Self::GetKeysInSlot(slot, count)
            }
            CommandId::ClusterHelp => Self::Help,
            CommandId::ClusterInfo => Self::Info,
            CommandId::ClusterKeyslot => Self::KeySlot(args.at(2)),
            CommandId::ClusterLinks => Self::Links,
            CommandId::ClusterLookup => Self::Lookup(LookupArgs::parse(args)?),
            // A brick is a shard: it has one name.
            CommandId::ClusterMyid | CommandId::ClusterMyshardid => Self::MyId,
            CommandId::ClusterNodes => Self::Nodes,
            CommandId::ClusterReplicas => Self::Replicas(args.at(2)),
            CommandId::ClusterShards => Self::Shards,
            CommandId::ClusterSlots => Self::Slots,
            CommandId::ClusterWatch => match args.at(2) {
                word if word.eq_ignore_ascii_case(b"on") => Self::Watch(true),
                word if word.eq_ignore_ascii_case(b"off") => Self::Watch(false),
                _ => return Err(ErrorReply::constant("ERR CLUSTER WATCH takes ON or OFF")),
            },
            _ => panic!("{id:?} is no subcommand of CLUSTER"),
        })
    }
}

fn slot(number: i64) -> Option<Slot> {
    let slot = u16::try_from(number).ok().map(Slot);
    slot.filter(|slot| slot.0 < Slot::COUNT)
}

#[cfg(test)]
#[path = "cluster_test.rs"]
mod cluster_test;
