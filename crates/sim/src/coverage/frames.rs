//! Frames of the streams between bricks, by what the receiver is to their partition.

use super::{Coverage, Table};
use brickyard_brick::{Role, message_kind};
use brickyard_metadata::Catalog;
use brickyard_replication::frame::{Frame, Reason, frame_len};
use brickyard_types::{PartitionId, record};
use std::collections::BTreeMap;

pub(super) const TABLE: Table = Table {
    name: "frame to",
    events: &[
        "Begin, backup",
        "Begin, learner",
        "Records",
        "Sequence with commits",
        "CopyStart, full",
        "CopyStart, difference",
        "Copy",
        "CopyEnd",
        "Yield",
        "Summary",
        "CopyDone",
        "Join",
        "Refuse: old view",
        "Refuse: new view",
        "Refuse: not a member",
        "Refuse: gap",
        "Refuse: behind",
        "Refuse: damage",
        "Refuse: log",
    ],
    states: &[
        "primary",
        "primary, view changes",
        "backup",
        "backup, view changes",
        "learner",
        "stopped",
        "none",
    ],
};

/// What bricks of different nodes ask one another for their clients, by how much a client may leave unread.
pub(super) const MESSAGES: Table = Table {
    name: "message",
    events: &["request", "reply", "no room", "resume"],
    states: &["usual room", "small room"],
};

impl Coverage {
    /// A brick that is this to its partitions takes these bytes of a peer.
    pub(crate) fn look_at_frames(
        &mut self,
        mut bytes: &[u8],
        roles: &BTreeMap<PartitionId, Role>,
        catalog: &Catalog,
        has_small_room: bool,
    ) {
        while let Ok(Some(len)) = frame_len(bytes) {
            let Some((frame, rest)) = bytes.split_at_checked(len) else {
                return;
            };
            bytes = rest;
            let Ok(frame) = Frame::decode(frame) else {
                return;
            };
            if let Frame::Message(message) = &frame
                && let Some(event) = message_kind(message)
            {
                let states = MESSAGES.states;
                self.hit(&MESSAGES, event, states[usize::from(has_small_room)]);
            }
            if let Some((event, partition)) = event_of(&frame) {
                self.hit(&TABLE, event, state_of(roles, catalog, partition));
            }
        }
    }
}

fn event_of(frame: &Frame<'_>) -> Option<(&'static str, PartitionId)> {
    Some(match frame {
        Frame::Begin(begin) if begin.is_learner => ("Begin, learner", begin.partition),
        Frame::Begin(begin) => ("Begin, backup", begin.partition),
        Frame::Records(records) => {
            let first = record::decode(records).ok()?;
            ("Records", first.header.partition)
        }
        Frame::Sequence { commits, .. } => {
            let (partition, _) = commits.iter().next()?;
            ("Sequence with commits", partition)
        }
        Frame::CopyStart(start) if start.is_full => ("CopyStart, full", start.partition),
        Frame::CopyStart(start) => ("CopyStart, difference", start.partition),
        Frame::Copy { partition, .. } => ("Copy", *partition),
        Frame::CopyEnd { partition, .. } => ("CopyEnd", *partition),
        Frame::Summary { partition, .. } => ("Summary", *partition),
        Frame::CopyDone { partition, .. } => ("CopyDone", *partition),
        Frame::Join { partition, .. } => ("Join", *partition),
        Frame::Yield { partition, .. } => ("Yield", *partition),
        Frame::Refuse(refuse) => (name(refuse.reason), refuse.partition),
        Frame::Message(_) | Frame::Ping | Frame::Pong | Frame::Vote(_) => return None,
    })
}

const fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::OldView => "Refuse: old view",
        Reason::NewView => "Refuse: new view",
        Reason::NotMember => "Refuse: not a member",
        Reason::Gap => "Refuse: gap",
        Reason::Behind => "Refuse: behind",
        Reason::Damage => "Refuse: damage",
        Reason::Log => "Refuse: log",
    }
}

fn state_of(
    roles: &BTreeMap<PartitionId, Role>,
    catalog: &Catalog,
    partition: PartitionId,
) -> &'static str {
    let mut groups = catalog.tables().filter_map(|it| it.map.group(partition));
    let changes = groups.next().is_some_and(|group| group.change.is_some());
    match roles.get(&partition) {
        Some(Role::Primary) if changes => "primary, view changes",
        Some(Role::Primary) => "primary",
        Some(Role::Backup) if changes => "backup, view changes",
        Some(Role::Backup) => "backup",
        Some(Role::Learner) => "learner",
        Some(Role::Stopped) => "stopped",
        Some(Role::None) | None => "none",
    }
}
