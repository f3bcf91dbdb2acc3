//! The node's one bound for the buffers of all its clients: who is closed for it, and what is told of that.
//!
//! In:  turns and ticks; what each brick's clients hold; the bound (`maxmemory_clients`). Out: connections that are closed, a line a second at most.
//!
//! Not here: counting, and which connection is the worst (`clients/memory`).

use crate::clients::{Clients, Evicted};
use crate::core::Core;
use crate::effect::Effect;
use crate::settings::Settings;
use brickyard_types::Instant;
use std::time::Duration;

/// Who has been silent for so long is not in the middle of anything that its spare buffers would help.
const IDLE: Duration = Duration::from_secs(1);

/// Lines in the log come no faster.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Evictions {
    /// Of those that no line has told of yet, the worst, and how many others.
    worst: Option<Evicted>,
    others: u64,
    reported: Option<Instant>,
}

impl Evictions {
    /// Between batches: looks at the bound if buffers have changed by much.
    #[inline]
    pub(crate) fn on_turn(&mut self, core: &mut Core, clients: &mut Clients) {
        if clients.has_news_of_memory() {
            self.keep_bound(core, clients, false);
        }
    }

    /// Several times a second.
    pub(crate) fn on_tick(&mut self, core: &mut Core, clients: &mut Clients) {
        self.keep_bound(core, clients, true);
        self.report(core);
    }

    fn keep_bound(&mut self, core: &Core, clients: &mut Clients, is_tick: bool) {
        clients.publish_memory(&core.stats().clients);
        let bound = Settings::load(&core.shared.settings.maxmemory_clients);
        if bound == 0 || held(core) <= bound - bound / 8 {
            return;
        }
        let idle_since = core.now.0.checked_sub(IDLE.as_nanos() as u64);
        if let Some(idle_since) = idle_since.filter(|_| is_tick) {
            clients.give_back_idle(Instant(idle_since));
            clients.publish_memory(&core.stats().clients);
        }
        while held(core) > bound {
            let evicted = clients.evict_worst(worst_of_others(core));
            clients.publish_memory(&core.stats().clients);
            let Some(evicted) = evicted else {
                // Another brick has a worse one, and closes that.
                return;
            };
            assert!(
                evicted.bytes > 0,
                "client {} held nothing and was closed for it",
                evicted.client
            );
            core.stats().clients.evicted.add(1);
            self.note(evicted);
        }
    }

    fn note(&mut self, evicted: Evicted) {
        match &mut self.worst {
            Some(worst) => {
                self.others += 1;
                if worst.bytes < evicted.bytes {
                    *worst = evicted;
                }
            }
            None => self.worst = Some(evicted),
        }
    }

    fn report(&mut self, core: &mut Core) {
        let is_soon = self
            .reported
            .is_some_and(|reported| core.now - reported < REPORT_EVERY);
        if is_soon {
            return;
        }
        let Some(worst) = self.worst.take() else {
            return;
        };
        let others = match std::mem::take(&mut self.others) {
            0 => String::new(),
            others => format!(", and {others} others that held less,"),
        };
        let bound = Settings::load(&core.shared.settings.maxmemory_clients);
        self.reported = Some(core.now);
        core.effects.push_back(Effect::Report(format!(
            "client {} ({}){others} was closed: it held {} bytes of the {bound} that all clients' buffers may take; have it read its replies and send \
             less at a time, or raise maxmemory_clients",
            worst.client, worst.peer, worst.bytes,
        )));
    }
}

/// Bytes that the clients of all bricks hold.
fn held(core: &Core) -> u64 {
    let all = core.shared.stats.iter();
    all.map(|stats| stats.clients.buffer_bytes.value()).sum()
}

/// The most that a client of another brick holds.
fn worst_of_others(core: &Core) -> usize {
    let all = core.shared.stats.iter().enumerate();
    let others = all.filter(|(at, _)| *at != core.id.0 as usize);
    let worst = others.map(|(_, stats)| stats.clients.worst_buffer_bytes.value());
    worst.max().unwrap_or(0) as usize
}

#[cfg(test)]
#[path = "evictions_test.rs"]
mod evictions_test;
