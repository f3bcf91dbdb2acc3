//! Ends of processes and what the next start finds, by what the node was to its cluster.

use super::{Coverage, Table};
use crate::process::Ending;
use crate::process::Process;
use brickyard_brick::Role;
use brickyard_store::RecoveryReport;

pub(super) const ENDS: Table = Table {
    name: "end of",
    events: &["kill", "power cut", "stop"],
    states: &["leader", "primary", "backup", "learner", "nobody"],
};

pub(super) const STARTS: Table = Table {
    name: "log at start",
    events: &["whole", "torn", "damaged"],
    states: &["tail sure", "tail unsure"],
};

impl Coverage {
    /// A process ends.
    pub(crate) fn look_at_end(&mut self, process: &Process, how: Ending) {
        let event = match how {
            Ending::Kill => "kill",
            Ending::Power => "power cut",
            Ending::Stop => "stop",
        };
        let statuses = process.bricks.iter().flat_map(|it| it.inspect().statuses());
        let roles: Vec<Role> = statuses.map(|it| it.role).collect();
        let is_leading = process.member().is_some_and(|it| it.is_leading());
        let state = if is_leading {
            "leader"
        } else if roles.contains(&Role::Primary) {
            "primary"
        } else if roles.contains(&Role::Backup) {
            "backup"
        } else if roles.contains(&Role::Learner) {
            "learner"
        } else {
            "nobody"
        };
        self.hit(&ENDS, event, state);
    }

    /// A brick has read its log.
    pub(crate) fn look_at_log(&mut self, report: &RecoveryReport, is_tail_sure: bool) {
        let event = if !report.damages.is_empty() {
            "damaged"
        } else if report.torn.is_some() {
            "torn"
        } else {
            "whole"
        };
        let state = if is_tail_sure {
            "tail sure"
        } else {
            "tail unsure"
        };
        self.hit(&STARTS, event, state);
    }
}
