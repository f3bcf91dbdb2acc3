//! Messages of the control plane, by how the node that takes them stands.

use super::{Coverage, Table};
use crate::process::Process;
use brickyard_control::message::{ToLeader, ToNode};
use brickyard_node::Message;

pub(super) const TABLE: Table = Table {
    name: "message to",
    events: &[
        "agreement",
        "Lease",
        "LeaderContact, answer",
        "Report",
        "Promote",
        "Evict",
        "Drain",
        "Change",
        "Join",
        "Split",
        "Rest",
        "Load",
        "Small",
        "Returned",
        "Astray",
        "Grant",
        "Superseded",
        "LeaderContact, question",
        "Report wanted",
        "Drained",
        "Changed",
        "Joined",
        "NotLeader",
        "Present",
        "forming",
    ],
    states: &[
        "leader",
        "member",
        "logs unread",
        "told to stop",
        "no cluster",
    ],
};

impl Coverage {
    /// A node is about to take a message.
    pub(crate) fn look_at_message(&mut self, message: &Message, process: &Process) {
        let state = match process.control.member() {
            Some(member) if member.is_leading() => "leader",
            Some(_) if process.control.is_draining() => "told to stop",
            Some(_) if process.bricks.is_empty() => "logs unread",
            Some(_) => "member",
            None => "no cluster",
        };
        self.hit(&TABLE, event_of(message), state);
    }
}

const fn event_of(message: &Message) -> &'static str {
    match message {
        Message::Raft(_) => "agreement",
        Message::ToLeader(message) => match message {
            ToLeader::Lease(_) => "Lease",
            ToLeader::LeaderContact(_) => "LeaderContact, answer",
            ToLeader::Report(_) => "Report",
            ToLeader::Promote(_) => "Promote",
            ToLeader::Evict(_) => "Evict",
            ToLeader::Drain(_) => "Drain",
            ToLeader::Change(_) => "Change",
            ToLeader::Join(_) => "Join",
            ToLeader::Split(_) => "Split",
            ToLeader::Rest(_) => "Rest",
            ToLeader::Load(_) => "Load",
            ToLeader::Small(_) => "Small",
            ToLeader::Returned(_) => "Returned",
            ToLeader::Astray(_) => "Astray",
        },
        Message::ToNode(message) => match message {
            ToNode::Grant(_) => "Grant",
            ToNode::Superseded(_) => "Superseded",
            ToNode::LeaderContact(_) => "LeaderContact, question",
            ToNode::Report(_) => "Report wanted",
            ToNode::Drained(_) => "Drained",
            ToNode::Changed(_) => "Changed",
            ToNode::Joined(_) => "Joined",
            ToNode::NotLeader(_) => "NotLeader",
            ToNode::Present(_) => "Present",
        },
        Message::Discovery(_) => "forming",
    }
}
