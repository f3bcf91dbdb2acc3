//! What time brings: repeated requests and retries. Whom it makes suspect is in `suspicion`.

use crate::ReplicatorConfig;
use crate::links::Links;
use crate::member::{Phase, Promotion};
use crate::own_log::OwnLog;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::suspicion::Suspicion;
use crate::work::Work;
use brickyard_types::Instant;
use std::time::Duration;

/// What time looks at, and what it may change.
pub(crate) struct Tick<'a> {
    pub(crate) now: Instant,
    /// Since the tick before.
    pub(crate) passed: Duration,
    pub(crate) config: &'a ReplicatorConfig,
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

impl Tick<'_> {
    pub(crate) fn tick(&mut self) {
        self.retry_appends();
        Suspicion {
            now: self.now,
            passed: self.passed,
            config: self.config,
            partitions: self.partitions,
            links: self.links,
            own: self.own,
            work: self.work,
            ready: self.ready,
        }
        .look();
        self.repeat_promotions();
        self.end_patience();
    }

    fn retry_appends(&mut self) {
        let (now, retry) = (self.now, self.config.retry);
        let mut at = 0;
        while let Some(&slot) = self.work.retrying.get(at) {
            let it = self.partitions.get_mut(slot);
            match it.and_then(|it| Some((it.retrying?, it))) {
                Some((since, _)) if now - since < retry => at += 1,
                Some((_, it)) => {
                    self.own.append_again(it, self.work, self.ready);
                    it.tell(self.ready);
                }
                None => {
                    self.work.retrying.swap_remove(at);
                }
            }
        }
    }

    fn repeat_promotions(&mut self) {
        let (now, repeat) = (self.now, self.config.repeat);
        for &(slot, replica) in &self.work.promotions {
            let it = self.partitions.get_mut(slot);
            let Some(it) = it.filter(|it| it.leads()) else {
                continue;
            };
            let (partition, view) = (it.id, it.place.view);
            let member = it.lead.members.iter_mut().find(|it| it.replica == replica);
            // Only while it is in step: else it is a matter of eviction.
            let member = member.filter(|it| matches!(it.phase, Phase::Streaming { .. }));
            if let Some(Promotion::Asked(asked)) = member.map(|it| &mut it.promotion)
                && now - *asked >= repeat
            {
                *asked = now;
                self.ready.request(Want::Promote {
                    partition,
                    view,
                    learner: replica,
                });
            }
        }
    }
}
