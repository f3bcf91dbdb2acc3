//! Clients that watch what others ask for (`MONITOR`).
//!
//! In:  lines of a run of this brick, or of another one of the node. Out: the lines in the outputs of those who watch.
//!
//! Invariant: whoever does not read is closed before it holds more than a subscriber may.

use super::Clients;
use super::subscribers::UNREAD_MAX;
use crate::accepted::ConnectionId;
use crate::core::Core;
use crate::output::CommitDependency;
use crate::settings::Settings;

impl Clients {
    /// The client watches from now on, or no more.
    pub(crate) fn monitor(&mut self, core: &Core, id: ConnectionId, is_on: bool) {
        let connection = &mut self[id];
        let watcher = (id, connection.client);
        let was_on = std::mem::replace(&mut connection.session.told.requests, is_on);
        if is_on && !was_on {
            core.shared.monitors.add(core.id);
            self.monitors.push(watcher);
        } else if !is_on && was_on {
            self.forget_monitor(core, watcher);
        }
    }

    pub(super) fn forget_monitor(&mut self, core: &Core, watcher: (ConnectionId, u64)) {
        let at = self.monitors.iter().position(|it| *it == watcher);
        self.monitors.swap_remove(at.expect("it watched"));
        core.shared.monitors.remove(core.id);
    }

    /// Whoever watches gets these lines.
    pub(crate) fn deliver_lines(&mut self, lines: &[u8], settings: &Settings) {
        let unread_max = settings.output_max().min(UNREAD_MAX);
        for at in 0..self.monitors.len() {
            let (id, client) = self.monitors[at];
            let connection = &mut self[id];
            assert_eq!(connection.client, client, "a client that is gone watches");
            if connection.end.is_broken {
                continue;
            }
            if connection.output.len() + lines.len() > unread_max {
                self.on_broken(id);
                continue;
            }
            let out = connection.output.begin();
            let start = out.len();
            out.extend_from_slice(lines);
            connection.output.end(start, CommitDependency::NONE);
            self.list(id);
        }
    }
}
