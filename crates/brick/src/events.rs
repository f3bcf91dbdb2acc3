//! What happens outside, and what the brick makes of it.
//!
//! In:  [`Event`]s. Out: committed operations in their tables, replies let out, requests that waited for it run.

use crate::append::BatchId;
use crate::baselines::append_baselines;
use crate::brick::Brick;
use crate::clean::{APART_TOKEN, Permit};
use crate::coordinate::Coordinator;
use crate::dispatch::lose;
use crate::effect::{Effect, Event};
use crate::forward::{Forward, NoRoom, ReplyKind};
use crate::heal::heal;
use crate::log_chunk::LogChunk;
use crate::membership::adopt_groups;
use crate::offline::{READ_TOKEN, SHELVED_TOKEN};
use crate::output::{CommitDependency, Lost};
use crate::peer::report_summaries;
use crate::refusal::error_line;
use crate::replica::Replication;
use crate::replica::wants::{SYNC_TOKEN, on_sync_done};
use crate::resize::Sizes;
use crate::session::cluster::tell_map_watchers;
use crate::session::whole::backups;
use crate::upkeep::publish;
use brickyard_command::ErrorReply;
use brickyard_metadata::Catalog;
use brickyard_replication::LogMark;
use brickyard_routing::Member;
use brickyard_types::{BrickId, Position};
use std::sync::Arc;

impl Brick {
    /// Takes note of something that happened outside.
    pub fn handle(&mut self, event: Event<'_>) {
        self.core.replication().tell_applied();
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
            Event::Registered(incarnation) => {
                let now = self.core.now;
                self.core.replication().register(incarnation, now);
            }
            Event::WantSummaries(token) => {
                let core = &mut self.core;
                report_summaries(&core.replicas, &mut core.effects, token);
            }
            Event::SegmentChunk(chunk) => self.on_chunk(&chunk),
            Event::Rolled { sealed, bytes } => {
                let core = &mut self.core;
                core.segments.seal(sealed, bytes);
                append_baselines(
                    &mut core.tables,
                    core.replicas.replicator(),
                    &mut core.log,
                    &mut core.segments.retained,
                );
            }
            Event::Checkpointed(token, outcome) => self.on_checkpoint(token, outcome),
            Event::Tick => self.on_tick(),
        }
    }

    /// A chunk of the log, for whoever asked for it.
    fn on_chunk(&mut self, chunk: &LogChunk<'_>) {
        let permit = self.cleaner_permit();
        let mut core = self.core.parts();
        let (replication, outside) = (&mut core.replication, &mut core.outside);
        let is_taken = core.catch_ups.on_chunk(replication, outside, chunk)
            || core.offline.on_chunk(replication, outside, chunk);
        if !is_taken {
            self.cleaner.on_chunk(replication, outside, permit, chunk);
        }
    }

    /// The log is synced up to where it was when that was asked for, or could not be.
    fn on_checkpoint(&mut self, token: u64, outcome: Result<(), String>) {
        let is_well = outcome.is_ok();
        let mut core = self.core.parts();
        let (replication, outside) = (&mut core.replication, &mut core.outside);
        match token {
            SYNC_TOKEN => on_sync_done(replication, outside, is_well),
            SHELVED_TOKEN => core.offline.on_shelved(replication),
            READ_TOKEN => core.offline.on_synced(replication, outside, is_well),
            APART_TOKEN => {}
            _ => self.on_checkpointed(token, outcome),
        }
    }

    /// What walks over the log, and tables that leave memory, leave to the cleaner.
    fn cleaner_permit(&self) -> Permit {
        let is_walked = self.core.moves.catch_ups.needs_log();
        let is_shelving = self.core.moves.offline.is_unsettled();
        let is_exported = self.exports.need_log();
        Permit {
            begin: !(self.is_stopping || is_walked || is_shelving || is_exported),
            remove: !is_exported,
        }
    }

    /// The cleaner goes on with what is synced.
    pub(crate) fn clean_synced(&mut self) {
        let permit = self.cleaner_permit();
        let mut core = self.core.parts();
        self.cleaner
            .on_synced(&mut core.replication, &mut core.outside, permit);
    }

    /// A turn's worth of catching others up.
    pub(crate) fn maintain_catch_ups(&mut self) {
        // The cleaner ends what it is at first, and begins no more.
        let may_walk = self.cleaner.is_idle();
        let mut core = self.core.parts();
        core.catch_ups
            .maintain(&mut core.replication, &mut core.outside, may_walk);
    }

    fn on_appended(&mut self, id: BatchId, position: Position) {
        self.core.moves.removals.on_appended(id);
        self.core
            .segments
            .retained
            .on_appended(id, position.segment);
        let committed = self.core.log.on_appended(id, position);
        let is_news = committed.is_some();
        if let Some(committed) = committed {
            let bytes = committed.bytes.len();
            self.core.segments.reach(committed.position, bytes);
            self.core.tables.note_copied(&committed);
            self.core.tables.apply_copied(&committed);
        }
        let core = &mut self.core;
        self.cleaner
            .on_appended(id, position, &mut core.tables, &mut core.segments);
        if is_news {
            self.core.replication().on_appended(id);
        }
        self.adopt_waiting();
        self.tell_lost();
        self.let_out();
    }

    /// A newer catalog: adopted at once, or when the records of the views before it are in the log.
    fn on_catalog(&mut self, catalog: Arc<Catalog>) {
        self.change_users(&catalog);
        // The same of functions.
        self.core.workshop.functions = self.core.shared.scripts.functions(catalog.libraries());
        self.core.tables.wait_for(catalog);
        self.core.moves.pending_splits.look_ahead(&self.core.tables);
        self.adopt_waiting();
    }

    /// Users count from the moment at which they are known: whoever lost a right does not keep it until some record is written.
    fn change_users(&mut self, catalog: &Catalog) {
        let before = self.core.users.clone();
        let users = self.core.shared.users.with_accounts(catalog.accounts());
        if users == before {
            return;
        }
        self.core.users = users;
        self.clients.change_users(&self.core);
    }

    pub(crate) fn adopt_waiting(&mut self) {
        if self.core.log.is_handed_over()
            && !self.core.is_about_to_part()
            && let Some(catalog) = self.core.tables.take_waiting()
        {
            self.core.adoption().adopt(catalog);
            self.leave_shelved();
            self.leave_removed();
            self.tell_lost();
            let version = self.core.tables.catalog().version();
            tell_map_watchers(&mut self.clients, version);
            self.clients.look_at_primaries(&mut self.core);
            self.feeds.wake_all();
        }
    }

    /// A catalog was adopted: whatever knows tables by their place in memory lets go of those that are not there any more.
    fn leave_shelved(&mut self) {
        let core = &mut self.core;
        let shelved = core.moves.offline.take_shelved();
        if shelved.is_empty() {
            return;
        }
        self.cleaner.abandon(&mut core.tables, &mut core.segments);
        for table in shelved {
            for (token, bytes) in self.exports.end_of(&self.core, table) {
                self.on_part(token, bytes, CommitDependency::NONE);
            }
        }
    }

    fn on_synced(&mut self, upto: BatchId) {
        self.core.log.on_synced(upto);
        self.clean_synced();
        let upto = upto.min(self.core.log.written());
        self.core.replication().on_synced(upto);
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
        self.core.moves.removals.on_refused(id);
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
        self.core.replication().on_refused(id);
        self.adopt_waiting();
        self.tell_lost();
        self.clients.forget_watches();
        self.core.requests.forget_watches();
        let core = &mut self.core;
        self.cleaner
            .on_refused(&core.log, &mut core.tables, &mut core.segments);
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

    /// Lets out every reply whose commit dependency is met.
    pub(crate) fn let_out(&mut self) {
        // Before anything is let out that waited for what is lost.
        self.tell_lost();
        let (before, now) = (self.let_out_upto, self.core.log.frontier());
        assert!(before.appended <= now.appended, "{before:?} to {now:?}");
        assert!(before.synced <= now.synced, "{before:?} to {now:?}");
        self.let_out_upto = now;
        self.clients.let_out(&self.core.log);
        self.let_out_requests();
        if self.core.requests.distributed.take_resolved(&self.core.log) {
            self.core.replicas.wake();
        }
        let stats = self.core.stats();
        stats
            .log
            .pending_bytes
            .set(self.core.log.pending_bytes() as u64);
    }

    fn on_forward(&mut self, from: BrickId, messages: Vec<Forward>) {
        assert_ne!(from, self.core.id, "messages of this brick to itself");
        let from = Member {
            brick: from,
            ..self.core.member()
        };
        for message in messages {
            match message {
                Forward::Reply(reply) => {
                    self.end_local_read(reply.token);
                    if reply.kind == ReplyKind::Misplaced {
                        self.on_misplaced(reply.token);
                    } else {
                        self.on_part(reply.token, reply.bytes, CommitDependency::NONE);
                    }
                }
                Forward::Returned(request) => self.on_returned(*request),
                Forward::Request(request) => self.take_request(from, request),
                Forward::NoRoom(request, needed) => {
                    self.end_local_read(request.origin.token);
                    let client = request.client;
                    let no_room = NoRoom { client, needed };
                    self.on_not_executed((from, no_room, Some(*request)));
                }
                Forward::Resume(client) => self.core.requests.stalls.end(from, client),
                Forward::Published(published) => {
                    self.clients.deliver(&published, &self.core.shared.settings);
                }
                Forward::Notice(notice) => self.on_notice(from, notice),
                Forward::Redirected {
                    connection,
                    client,
                    key,
                } => {
                    let client = (connection, client);
                    self.clients.deliver_redirected(client, key.as_deref());
                }
                Forward::Shown(lines) => {
                    self.clients
                        .deliver_lines(&lines, &self.core.shared.settings);
                }
                Forward::Unpaused => self.end_pause(),
            }
        }
    }

    /// Commands that wait by `CLIENT PAUSE` go on, if none has to any more.
    fn end_pause(&mut self) {
        let is_paused = self.core.shared.oversight.pause.at(self.core.now).is_some();
        if self.clients.has_held() && !is_paused {
            self.clients.release_held();
        }
    }

    fn on_tick(&mut self) {
        if self.core.is_adopting() {
            // What it waited for may have come about without the log: a batch of tables without one is never appended.
            self.adopt_waiting();
        }
        self.end_pause();
        self.upkeep.on_tick(&mut self.core);
        Coordinator::new(&mut self.core).tick();
        self.see_to_transactions();
        self.copies().tick();
        self.tick_feeds();
        self.evictions.on_tick(&mut self.core, &mut self.clients);
        self.clean();
        self.end_waits();
        self.append_removals();
        self.tick_replicas();
        self.tell_returns();
        self.core.tables.settle_clears();
        self.core.tables.find_removed();
        self.core.negative_versions.forget_old(self.core.now);
        let synced = self.core.log.frontier().synced;
        while let Some(table) = self.core.tables.poll_durability(synced) {
            adopt_groups(&mut self.core.replication(), table);
        }
        let all = &self.core.shared.stats;
        if self.upkeep.begin_sweep(self.core.now, all) {
            let settings = &self.core.shared.settings;
            self.clients.close_idle(settings, self.core.now);
            self.exports.end_idle(&mut self.core);
            self.tell_cleaner();
            self.core.tables.expire_requests(self.core.unix);
            self.resize_partitions();
            heal(&mut self.core);
            self.upkeep.cpu_load.look(&mut self.core);
            self.clients.recount_all();
            publish(&self.core);
            let followers = &self.core.stats().followers;
            followers.publish(self.core.replicas.replicator());
        }
    }

    /// A tick's worth of cleaning.
    fn clean(&mut self) {
        let permit = self.cleaner_permit();
        let mut core = self.core.parts();
        self.cleaner
            .clean(&mut core.replication, &mut core.outside, permit);
    }

    /// Removal records that the log has refused are appended again, once it takes writes.
    fn append_removals(&mut self) {
        if self.core.segments.health.refusal(self.core.now).is_none() {
            let Replication {
                tables,
                log,
                segments,
                removals,
                ..
            } = self.core.replication();
            removals.append_again(tables, log, &mut segments.retained);
        }
    }

    /// The control plane is told of tables that come back.
    fn tell_returns(&mut self) {
        let mut core = self.core.parts();
        let (tables, replicas) = (core.replication.tables, core.replication.replicas);
        core.offline
            .tell_returns(tables, replicas.replicator(), &mut core.outside);
    }

    /// Partitions that have outgrown their size, or shrunk, are split and merged.
    fn resize_partitions(&mut self) {
        let limits = &self.core.shared.limits;
        let sizes = Sizes {
            partition_bytes: limits.partition_bytes,
            merge_after: limits.merge_after,
        };
        if self.core.replicas.is_leased {
            let mut core = self.core.parts();
            core.shrunk
                .resize(core.replication.tables, sizes, &mut core.outside);
        }
    }

    /// A tick's worth of work on replicas.
    fn tick_replicas(&mut self) {
        let now = self.core.now;
        let ordered = LogMark(self.core.log.ordered().0);
        self.core.replication().replicate(|replicator| {
            replicator.on_ordered(ordered);
            replicator.tick(now);
        });
        self.core.replicas.engine.outbox.tick(now);
        self.tell_lost();
        self.maintain_catch_ups();
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
            self.on_part(
                token,
                format!(":{backups}\r\n").into_bytes(),
                CommitDependency::NONE,
            );
        }
    }
}
