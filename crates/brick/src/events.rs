//! What happens outside, and what the brick makes of it.
//!
//! In:  [`Event`]s. Out: committed operations in their tables, replies let out, requests that waited for it run.

use crate::append::BatchId;
use crate::brick::Brick;
use crate::core::Core;
use crate::dispatch::lose;
use crate::effect::{Effect, Event};
use crate::forward::Forward;
use crate::offline::{READ_TOKEN, SHELVED_TOKEN};
use crate::output::{Gate, Lost};
use crate::refusal::error_line;
use crate::replica::SYNC_TOKEN;
use crate::session::cluster::tell_map_watchers;
use crate::session::whole::backups;
use crate::tables::PendingClear;
use crate::upkeep::publish;
use brickyard_command::ErrorReply;
use brickyard_metadata::Catalog;
use brickyard_routing::Member;
use brickyard_types::{BrickId, PartitionId, Position};
use std::sync::Arc;

impl Brick {
    /// Takes note of something that happened outside.
    pub fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Appended { id, position } => self.on_appended(id, position),
            Event::AppendFailed { id, reason } => self.on_append_failed(id, &reason),
            Event::Synced(upto) => self.on_synced(upto),
            Event::Poisoned(reason) => self.on_poisoned(&reason),
            Event::Read { token, value } => self.on_read(token, value),
            Event::Forward(from, messages) => self.on_forward(from, messages),
            Event::Control(request, reply) => self.on_control(request, reply),
            Event::Catalog(catalog) => self.on_catalog(catalog),
            Event::Lease { until, version } => {
                let adopted = self.core.tables.catalog().version().0;
                self.core.replicas.grant(until, version, adopted);
                self.core.replicas.check_lease(self.core.now);
            }
            Event::Registered(incarnation) => self.core.on_registered(incarnation),
            Event::WantClaims(token) => self.core.tell_claims(token),
            Event::SegmentChunk(chunk) => {
                if !self.on_catch_up_chunk(&chunk) && !self.on_return_chunk(&chunk) {
                    self.on_cleaned_chunk(&chunk);
                }
            }
            Event::Rolled { sealed, bytes } => {
                self.core.segments.seal(sealed, bytes);
                self.core.claim_all();
            }
            Event::Checkpointed(SYNC_TOKEN, outcome) => self.core.on_sync_done(outcome.is_ok()),
            Event::Checkpointed(SHELVED_TOKEN, _) => self.on_shelved(),
            Event::Checkpointed(READ_TOKEN, outcome) => self.on_read_synced(outcome.is_ok()),
            Event::Checkpointed(request, outcome) => self.on_checkpointed(request, outcome),
            Event::Tick => self.on_tick(),
        }
    }

    fn on_appended(&mut self, id: BatchId, position: Position) {
        let moved_to = self.cleaner.on_appended(id, position);
        self.core.moves.drops.on_appended(id);
        self.core
            .segments
            .retained
            .on_appended(id, position.segment);
        let committed = self.core.log.on_appended(id, position);
        let is_news = committed.is_some();
        if let Some(committed) = committed {
            let bytes = committed.bytes.len();
            self.core.segments.reach(committed.position, bytes);
            self.core.apply(committed);
        }
        if moved_to {
            self.relocate_moved(position);
        }
        if is_news {
            self.core.replicas_appended(id);
        }
        self.adopt_waiting();
        self.tell_lost();
        self.let_out();
    }

    /// A newer catalog: adopted at once, or when the records of the views before it are in the log.
    fn on_catalog(&mut self, catalog: Arc<Catalog>) {
        self.core.tables.wait_for(catalog);
        self.core.look_for_partings();
        self.adopt_waiting();
    }

    pub(crate) fn adopt_waiting(&mut self) {
        let needs_idle = self.core.is_about_to_share();
        if self.core.log.is_handed_over()
            && (!needs_idle || self.core.log.is_idle())
            && !self.core.is_about_to_part()
            && let Some(catalog) = self.core.tables.take_waiting()
        {
            self.core.adopt(catalog);
            self.leave_shelved();
            self.leave_removed();
            self.tell_lost();
            let version = self.core.tables.catalog().version();
            tell_map_watchers(&mut self.clients, version);
        }
    }

    fn on_synced(&mut self, upto: BatchId) {
        for committed in self.core.log.on_synced(upto) {
            self.core.apply(committed);
        }
        self.on_clean_synced();
        self.core.replicas_synced(upto.min(self.core.log.written()));
        self.adopt_waiting();
        self.tell_lost();
        self.let_out();
    }

    /// The log refused a batch: everything that was decided in it, or against it, is refused.
    fn on_append_failed(&mut self, id: BatchId, reason: &str) {
        let brick = self.core.id;
        let text = format!(
            "MISCONF the log of brick {brick} cannot be written ({reason}); the write was not executed. \
             Free space on the disk of {}, then try again",
            self.core.shared.identity.directory
        );
        let error = ErrorReply::new(text.clone());
        self.core.segments.health.on_refused(self.core.now, text);
        let error = error_line(&error);
        let refused = self.core.log.on_refused(id);
        self.core.moves.drops.on_refused(id);
        self.core.segments.retained.on_refused(id);
        lose(
            &mut self.core,
            &mut self.clients,
            Lost::Unwritten(id),
            &error,
        );
        // What the replicator knows of goes on: only what it never heard of is refused.
        for partition in &refused.partitions {
            lose(
                &mut self.core,
                &mut self.clients,
                Lost::Of(*partition, id),
                &error,
            );
        }
        let refused = refused.operations;
        self.core.stats().errors.disk.add(refused.len() as u64);
        self.core.rewind(&refused);
        self.core.replicas_refused(id);
        self.adopt_waiting();
        self.tell_lost();
        self.clients.forget_watches();
        self.core.requests.forget_watches();
        self.on_clean_refused();
        self.let_out();
    }

    /// A sync failed: nobody knows what of the writes since the last one is on the disk.
    fn on_poisoned(&mut self, reason: &str) {
        let error = ErrorReply::new(format!(
            "UNKNOWNRESULT the log of brick {} could not be synced ({reason}); the write may or may not \
             survive. The node stops; read the key after its restart to know",
            self.core.id
        ));
        let first = BatchId(self.core.log.frontier().synced.0 + 1);
        self.core.log.on_refused(first);
        lose(
            &mut self.core,
            &mut self.clients,
            Lost::From(first),
            &error_line(&error),
        );
        self.let_out();
        self.core.effects.push_back(Effect::Stop(format!(
            "brick {}: a sync of the log failed: {reason}. What was written since the last sync may be \
             lost; start the node again to recover what is on the disk",
            self.core.id
        )));
    }

    /// Lets out every reply whose gate has opened.
    pub(crate) fn let_out(&mut self) {
        // Before anything is let out that waited for what is lost.
        self.tell_lost();
        self.let_out_upto = self.core.log.frontier();
        self.clients.let_out(&self.core.log);
        self.let_out_requests();
        let stats = self.core.stats();
        stats
            .log
            .pending_bytes
            .set(self.core.log.pending_bytes() as u64);
    }

    fn on_forward(&mut self, from: BrickId, messages: Vec<Forward>) {
        let from = Member {
            brick: from,
            ..self.core.member()
        };
        for message in messages {
            match message {
                Forward::Reply(reply) => {
                    self.end_near(reply.token);
                    if reply.is_misplaced {
                        self.on_misplaced(reply.token);
                    } else {
                        self.on_part(reply.token, reply.bytes, Gate::OPEN);
                    }
                }
                Forward::Returned(request) => self.on_returned(*request),
                Forward::Request(request) => self.take_request(from, request),
            }
        }
    }

    fn on_tick(&mut self) {
        if self.core.is_adopting() {
            // What it waited for may have come about without the log: a batch of tables without one is never appended.
            self.adopt_waiting();
        }
        self.upkeep.on_tick(&mut self.core);
        self.clean();
        self.end_waits();
        self.core.append_drops();
        self.tick_replicas();
        self.core.tell_returns();
        self.core.ask_lone_splits();
        self.core.tables.settle_clears();
        self.core.tables.find_removed();
        self.core.absences.forget_old(self.core.now);
        let synced = self.core.log.frontier().synced;
        self.core.tables.settle_durability(synced);
        let all = &self.core.shared.stats;
        if self.upkeep.begin_sweep(self.core.now, all) {
            let settings = &self.core.shared.settings;
            self.clients.close_idle(settings, self.core.now);
            self.exports.end_idle(&mut self.core);
            self.tell_cleaner();
            self.core.tables.expire_requests(self.core.unix);
            self.core.resize_partitions();
            self.upkeep.burden.look(&mut self.core);
            publish(&self.core, &self.clients);
        }
    }

    /// A tick's worth of work on replicas.
    fn tick_replicas(&mut self) {
        let now = self.core.now;
        self.core.replicate(|replicator| replicator.tick(now));
        self.core.replicas.engine.outbox.tick(now);
        self.tell_lost();
        self.tend_catch_ups();
        self.give_up_writes();
        self.end_overdue();
        self.tell_lost();
        // Requests that another node has refused are tried again now and then, whatever happened.
        self.core.replicas.wake();
    }

    fn end_waits(&mut self) {
        for token in self.clients.due_waits(self.core.now) {
            let connection = &mut self.clients[token.connection];
            connection.blocked = None;
            let backups = backups(&self.core, connection.session.table);
            self.on_part(token, format!(":{backups}\r\n").into_bytes(), Gate::OPEN);
        }
    }
}

impl Core {
    /// Clears that were hit by a loss: an earlier one may be on its way yet.
    pub(crate) fn find_clears(&mut self, lost: Lost) {
        for (table, state) in self.tables.indexed_mut() {
            for partition in state.partitions.iter_mut().flatten() {
                if partition
                    .clear
                    .is_some_and(|clear| clear.gate.is_hit_by(lost))
                {
                    let earlier =
                        self.log
                            .pending_clear(table as u32, partition.local, partition.id);
                    partition.clear = earlier.map(|(op, gate)| PendingClear { op, gate });
                }
            }
        }
    }

    /// What of a partition's clears is pending now.
    pub(crate) fn find_clear(&mut self, id: PartitionId) {
        let Some((table, leaf)) = self.tables.place_of(id) else {
            return;
        };
        let Self { tables, log, .. } = self;
        let state = tables.get_mut(table);
        let partition = state.and_then(|it| it.partitions.get_mut(leaf)?.as_mut());
        if let Some(partition) = partition.filter(|it| it.clear.is_some()) {
            let pending = log.pending_clear(table as u32, partition.local, id);
            partition.clear = pending.map(|(op, gate)| PendingClear { op, gate });
        }
    }
}
