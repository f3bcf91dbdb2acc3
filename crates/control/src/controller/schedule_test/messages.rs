//! What leaders, voters and nodes say to each other: late, in another order, or never.

use super::{NODES, Schedule};
use crate::RoundToken;
use crate::controller::testing::seat;
use crate::message::{HeardQuery, HeardReply, LeaseRequest, LogReport, ToNode};
use crate::output::ControlOutput;
use brickyard_routing::NodeId;
use std::time::Duration;

/// A message on its way, with the leader's term.
pub(super) enum Late {
    Request(u64, LeaseRequest),
    Quorum(u64, RoundToken),
    NoQuorum(u64, RoundToken),
    To(usize, u64, ToNode),
    Heard(u64, NodeId, HeardReply),
}

impl Schedule {
    pub(super) fn lateness(&mut self) -> Duration {
        let is_late = !self.is_calm && self.chance.one_in(self.mood.late);
        let most = if is_late { 3_000 } else { 20 };
        Duration::from_millis(self.chance.next(most))
    }

    pub(super) fn deliver(&mut self) {
        let now = self.now;
        let (due, late): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.late)
                .into_iter()
                .partition(|(at, message)| {
                    let to = match message {
                        Late::To(node, ..) => Some(*node),
                        Late::Request(term, _)
                        | Late::Quorum(term, _)
                        | Late::NoQuorum(term, _)
                        | Late::Heard(term, ..) => {
                            self.leader(*term).map(|at| self.leaders[at].node)
                        }
                    };
                    *at <= now && to.is_none_or(|node| !self.is_frozen(node))
                });
        self.late = late;
        for (_, message) in due {
            match message {
                Late::Request(term, request) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_lease_request(now, request);
                    }
                }
                Late::Quorum(term, token) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_quorum(now, token);
                    }
                }
                Late::NoQuorum(term, token) => {
                    if let Some(at) = self.leader(term) {
                        self.leaders[at].controller.on_quorum_lost(token);
                    }
                }
                Late::Heard(term, from, reply) => {
                    if let Some(at) = self.leader(term) {
                        let now = self.clock(self.leaders[at].node);
                        self.leaders[at].controller.on_heard(now, from, reply);
                    }
                }
                Late::To(node, term, message) => self.receive(node, term, &message),
            }
        }
    }

    fn leader(&self, term: u64) -> Option<usize> {
        self.leaders.iter().position(|leader| leader.term == term)
    }

    fn receive(&mut self, node: usize, term: u64, message: &ToNode) {
        let clock = self.clock(node);
        match message {
            ToNode::Grant(grant) => {
                for process in self.processes.iter_mut().filter(|it| it.node == node) {
                    process.lease.on_grant(grant, clock);
                }
            }
            ToNode::Heard(HeardQuery { term: asked }) => {
                self.terms[node] = self.terms[node].max(*asked);
                let query = HeardQuery { term: *asked };
                if let Some(reply) = self.heard[node].answer(query, self.terms[node], clock) {
                    let late = self.lateness();
                    let message = Late::Heard(term, NodeId(node as u32), reply);
                    self.late.push((self.now + late, message));
                }
            }
            ToNode::Report(request) => {
                let report = LogReport {
                    seat: seat(node as u32, request.incarnation.0),
                    summaries: self.logs.claims(node),
                    is_last: true,
                };
                if let Some(at) = self.leader(term) {
                    self.leaders[at].controller.on_report(report);
                }
            }
            _ => {}
        }
    }

    pub(super) fn carry_out(&mut self, at: usize) {
        let (node, term) = (self.leaders[at].node, self.leaders[at].term);
        while let Some(output) = self.leaders[at].controller.poll() {
            match output {
                ControlOutput::Round(token) => {
                    // Those in a later term do not answer; those who answer are in this one from then on.
                    let clock = self.clock(node);
                    self.heard[node].on_leader(term, clock);
                    let mut count = 0;
                    for voter in 0..NODES {
                        let is_there = voter == node || !self.is_frozen(voter);
                        let answers = self.terms[voter] <= term && is_there;
                        if answers && (voter == node || !self.chance.one_in(5)) {
                            count += 1;
                            self.terms[voter] = term;
                            let clock = self.clock(voter);
                            self.heard[voter].on_leader(term, clock);
                        }
                    }
                    if count > NODES / 2 {
                        let late = self.lateness();
                        self.late.push((self.now + late, Late::Quorum(term, token)));
                    } else {
                        let late = Duration::from_millis(500) + self.lateness();
                        self.late
                            .push((self.now + late, Late::NoQuorum(term, token)));
                    }
                }
                ControlOutput::Propose(token, change) => {
                    self.leaders[at].proposals.push((Some(token), change));
                }
                ControlOutput::Send(to, message) => {
                    let late = self.lateness();
                    let message = Late::To(to.0 as usize, term, message);
                    self.late.push((self.now + late, message));
                }
                ControlOutput::Membership(_) | ControlOutput::TransferLeader(_) => {}
            }
        }
        // A deposed leader's proposals come to nothing.
        if at + 1 < self.leaders.len() {
            self.leaders[at].proposals.clear();
        }
    }
}
