//! A node that is going to stop hands over what others can take: its partitions, and then the lead.
//!
//! In:  how the node stands. Out: questions to the leader; whether nothing is left to be handed over.

use crate::host::{Common, Host, Urgency};
use crate::member::ClusterMember;
use brickyard_control::message::{DrainAsk, ToLeader};
use brickyard_routing::NodeId;
use brickyard_types::Instant;

/// How often it is asked how far that is, while a lease is renewed once.
const ASKS: u32 = 6;

/// See the module. Begun when the node is told to stop.
#[derive(Debug)]
pub(crate) struct Draining {
    asked: Option<Instant>,
    /// Whom it asks.
    leader: Option<(NodeId, u64)>,
    /// When there was one last.
    led_at: Instant,
}

impl Draining {
    /// From now on the node wants to be rid of what it holds.
    pub(crate) fn begin<H: Host>(common: &mut Common<H>) -> Self {
        common.drained = None;
        Self {
            asked: None,
            leader: None,
            led_at: common.host.now(),
        }
    }

    /// Whether the node may stop now without anybody having to wait for a lease to run out. If not, the leader is
    /// asked; [`ClusterMember::settle`] it next, and ask again after everything that happens.
    pub(crate) fn poll<H: Host>(
        &mut self,
        member: &mut ClusterMember,
        common: &mut Common<H>,
    ) -> bool {
        let is_alone = member
            .catalog()
            .is_none_or(|catalog| catalog.nodes().len() < 2);
        let Some(incarnation) = member.incarnation().filter(|_| !is_alone) else {
            return true;
        };
        self.note_leader(member.leader(), common);
        if self.is_done(member, common) {
            return true;
        }
        let now = common.host.now();
        let pause = common.control.renew / ASKS;
        if self.asked.is_none_or(|asked| now - asked >= pause) {
            self.asked = Some(now);
            let ask = DrainAsk {
                node: member.me(),
                incarnation,
            };
            member.tell_leader(ToLeader::Drain(ask), Urgency::High, common);
        }
        false
    }

    /// Another leader does not know that this node is going to stop, and gives it copies until it hears of it.
    fn note_leader<H: Host>(&mut self, leader: Option<(NodeId, u64)>, common: &mut Common<H>) {
        if leader.is_none() {
            return;
        }
        self.led_at = common.host.now();
        if leader != self.leader {
            self.leader = leader;
            self.asked = None;
            common.drained = None;
        }
    }

    fn is_done<H: Host>(&self, member: &ClusterMember, common: &Common<H>) -> bool {
        let is_empty = common.drained.as_ref().is_some_and(|it| it.remaining == 0);
        let is_leading = member.is_leading() && member.has_other_voters();
        // Between two leaders there will be another one, unless too many have stopped.
        let is_led = member.leader().is_some();
        let is_settled = is_led || common.host.now() - self.led_at >= common.control.lease;
        is_empty && !is_leading && is_settled
    }
}
