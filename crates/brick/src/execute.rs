//! From a parsed request to its reply: checks, then the command itself.
//!
//! In:  a request of one client. Out: a reply in the client's output, with the commit dependency it waits for.
//!
//! The order of the checks is Redis's, so that a request with several faults gets the same error.

use crate::accepted::ConnectionId;
use crate::batch::{BATCH_BYTES_MAX, Batch, Found, Parsed, Target, is_heavy};
use crate::brick::Brick;
use crate::check::check;
use crate::clients::{Last, note_reads, take_own, track, wants_reply};
use crate::connection::ReplyMode;
use crate::coordinate::Coordinator;
use crate::forward::Forward;
use crate::keyed::{self, Asked, Left, asked};
use crate::lease_gate::note_beginnings;
use crate::monitor::{is_shown, write_line};
use crate::output::CommitDependency;
use crate::pause::Pause;
use crate::quota::is_limit;
use crate::refusal::error_line;
use crate::request::Attempt;
use crate::scripts::is_script;
use crate::session::transact::{enqueue, is_queueable};
use crate::slowlog::{SlowCommand, first_secret};
use brickyard_command::{Args, CommandId, ErrorReply, Spec, keys, table::flag};
use brickyard_routing::Member;
use brickyard_wire::Reply;
use std::sync::Arc;

/// Whether this is a line of a request that a browser makes. A page of anywhere can make its reader's
/// browser send one to a server on the reader's machine that asks for no password, with commands for a
/// body: like Redis, we hang up before we come to those.
fn is_of_http(args: &Args<'_>) -> bool {
    let name = args.at(0);
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

impl Brick {
    /// Executes a batch of the requests that have arrived, or one that may take long.
    pub fn run(&mut self) {
        if !self.core.replicas.new_leads.partitions.is_empty() {
            note_beginnings(&mut self.core);
        }
        self.take_messages();
        self.run_ready();
        self.retry_waiting();
        Coordinator::new(&mut self.core).retry();
        self.see_to_transactions();
        self.ask_again();
        self.begin_rounds();
        self.core.tables.free_removed();
        let is_single = self.core.shared.settings.measures_each();
        self.batch.collect(&self.core, &mut self.clients, is_single);
        self.batch.look_ahead(&self.core);
        self.clients.begin_batch();
        self.execute_batch(is_single);
        self.clients.end_batch();
        self.upkeep.on_turn(&mut self.core);
        self.evictions.on_turn(&mut self.core, &mut self.clients);
    }

    /// What comes behind all that its connection has asked begins.
    pub(crate) fn begin_now(&mut self, last: Last) {
        match last {
            Last::Request(request) => self.begin(*request),
            Last::Subrequests(asked, bricks, token) => {
                self.begin_subrequests(&asked, bricks, token);
            }
            Last::Round(token) => self.begin_round(token),
        }
    }

    fn execute_batch(&mut self, is_single: bool) {
        let batch = std::mem::take(&mut self.batch);
        let pause = self.core.shared.oversight.pause.at(self.core.now);
        self.core.workshop.shown = self
            .core
            .shared
            .oversight
            .monitors
            .are_there()
            .then(Vec::new);
        let mut last = None;
        for parsed in batch.iter() {
            let id = parsed.connection;
            if let Some(last) = last.filter(|last| *last != id) {
                self.clients.end_requests(last, self.core.stats());
            }
            last = Some(id);
            let is_next = self
                .clients
                .get(id)
                .is_some_and(|it| it.input.executed() == parsed.start && it.may_execute());
            let is_turn_over = self.scripts_have_had_their_turn();
            if is_next && !is_turn_over && self.core.log.building_len() < BATCH_BYTES_MAX {
                match pause.filter(|pause| self.is_held(*pause, parsed, &batch)) {
                    Some(_) => self.clients.hold(id),
                    None => self.execute_parsed(parsed, &batch, is_single),
                }
            } else {
                self.clients.stop(id);
            }
        }
        if let Some(last) = last {
            self.clients.end_requests(last, self.core.stats());
        }
        assert!(self.batch.is_empty(), "a batch is made while one runs");
        self.batch = batch;
        self.show();
    }

    /// Whether a request waits for the end of a pause.
    fn is_held(&self, pause: Pause, parsed: &Parsed, batch: &Batch) -> bool {
        let connection = &self.clients[parsed.connection];
        let is_request = matches!(parsed.found, Found::Request { .. });
        let args = batch.args(parsed, connection.input.bytes());
        let queue = connection.session.multi.queue.as_ref();
        let queued = queue.into_iter().flat_map(|it| &it.commands);
        is_request && pause.holds(args, queued.map(|(spec, _)| *spec))
    }

    /// What the run's clients have asked for goes to those who watch.
    fn show(&mut self) {
        let shown = self.core.workshop.shown.take();
        let Some(lines) = shown.filter(|lines| !lines.is_empty()) else {
            return;
        };
        let (own, lines) = (self.core.member(), Arc::<[u8]>::from(lines));
        let shared = Arc::clone(&self.core.shared);
        for brick in shared.oversight.monitors.bricks() {
            if brick == own.brick {
                self.clients.deliver_lines(&lines, &shared.settings);
            } else {
                let to = Member { brick, ..own };
                let message = Forward::Shown(Arc::clone(&lines));
                self.core.outbox.push(to, message);
            }
        }
    }

    /// Whether scripts have taken so much of the turn that what is left of it belongs to other bricks.
    #[inline]
    pub(crate) fn scripts_have_had_their_turn(&self) -> bool {
        let (scripts, settings) = (&self.core.workshop.scripts, &self.core.shared.settings);
        scripts.have_had_their_turn(self.core.now, settings)
    }

    fn execute_parsed(&mut self, parsed: &Parsed, batch: &Batch, is_single: bool) {
        let id = parsed.connection;
        match &parsed.found {
            Found::Nothing => self.clients[id].input.skip_to(parsed.end),
            Found::Garbage(error) => {
                let connection = &mut self.clients[id];
                let reply = connection.output.begin();
                let start = reply.len();
                Reply::new(reply, connection.session.protocol).protocol_error(error);
                connection.output.end(start, CommitDependency::NONE);
                connection.input.skip_to(parsed.end);
                self.core.stats().clients.protocol_errors.add(1);
                self.clients.close(id);
            }
            Found::Request { spec, target } => {
                // The input is lent to the command and given back: the command may change
                // anything else of its connection.
                let connection = &mut self.clients[id];
                let input = connection.input.lend();
                let args = batch.args(parsed, &input);
                if is_single || spec.is_some_and(|spec| is_heavy(spec, args.len())) {
                    let (settings, now) = (&self.core.shared.settings, self.core.unix);
                    let slow = SlowCommand::begin(connection, *spec, &args, settings, now);
                    if let Some(slow) = slow {
                        self.meter.note_slow(slow);
                    }
                }
                let runs_script = spec.is_some_and(|spec| is_script(spec.id));
                if runs_script {
                    // Another brick's may have run before.
                    self.core.workshop.scripts.take_last();
                }
                self.execute(id, *spec, *target, &args);
                if self.core.holders.has_outgoing() {
                    // Before anything that rests on the write can leave.
                    take_own(&mut self.core, &mut self.clients);
                }
                if runs_script {
                    self.note_script(id, *spec, &args);
                }
                if let Some(connection) = self.clients.get_mut(id) {
                    connection.input.give_back(input, parsed.end);
                }
            }
        }
    }

    /// What a script took may be something for the slow log, whatever the rest of its batch takes.
    fn note_script(&mut self, id: ConnectionId, spec: Option<&'static Spec>, args: &Args<'_>) {
        let took = self.core.workshop.scripts.take_last().as_micros() as u64;
        let settings = &self.core.shared.settings;
        let is_measured = spec.is_some_and(|spec| is_heavy(spec, args.len()));
        if is_measured || !settings.is_slow(took) {
            return;
        }
        let Some(connection) = self.clients.get(id) else {
            return;
        };
        if let Some(slow) = SlowCommand::begin(connection, spec, args, settings, self.core.unix) {
            self.meter.note_took(slow, took, settings);
        }
    }

    /// Executes one request.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        target: Option<Target>,
        args: &Args<'_>,
    ) {
        let admitted = self.admit(id, spec, args);
        let checked = admitted.and_then(|()| check(&self.core, &mut self.clients[id], spec, args));
        let mut ends_caching = self.clients.is_tracker(id);
        match checked {
            Ok(spec) => {
                self.meter.note(spec.id);
                ends_caching &= spec.id != CommandId::ClientCaching;
                if let Some(lines) = &mut self.core.workshop.shown
                    && is_shown(spec)
                {
                    let connection = &self.clients[id];
                    let from = (connection.session.database, &connection.accepted.peer[..]);
                    let secrets_from = first_secret(Some(spec), args);
                    write_line(lines, self.core.unix, from, secrets_from, args);
                }
                let is_keyed = spec.key_first > 0
                    && !spec.has(flag::PUBSUB)
                    && match spec.id {
                        CommandId::Watch | CommandId::Move => false,
                        // It may name another table.
                        CommandId::Copy => args.len() <= 3,
                        _ => true,
                    };
                if self.clients[id].session.multi.queue.is_some() && is_queueable(spec.id) {
                    let queued = enqueue(&self.core, &mut self.clients, id, spec, *args);
                    if let Err(error) = queued {
                        self.refuse(id, Some(spec), &error);
                    }
                } else if is_keyed {
                    self.execute_keyed(id, spec, target, args, None);
                } else {
                    self.execute_session(id, spec, args);
                }
            }
            Err(_) if is_of_http(args) => {
                self.core.stats().clients.protocol_errors.add(1);
                self.on_error(id);
            }
            Err(error) => {
                self.note_denied(id);
                self.tell_of_refused(id, args, &error);
                self.refuse(id, spec, &error);
            }
        }
        if self
            .clients
            .get(id)
            .is_some_and(|it| it.session.reply_mode != ReplyMode::On)
        {
            self.turn_reply_mode(id);
        }
        if ends_caching {
            self.clients.end_caching(id);
        }
    }

    /// Takes a request from the rates of its user, if that has any.
    #[inline]
    fn admit(
        &self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        args: &Args<'_>,
    ) -> Result<(), ErrorReply> {
        match &self.clients[id].session.user {
            Some(seat) if seat.has_rates() => seat.admit(spec, args.request_len(), self.core.now),
            _ => Ok(()),
        }
    }

    /// Executes a command on keys, which may have an id.
    #[inline]
    pub(crate) fn execute_keyed(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        target: Option<Target>,
        args: &Args<'_>,
        attempt: Option<Attempt>,
    ) {
        let (core, clients) = (&mut self.core, &mut self.clients);
        let is_tracked = spec.has(flag::READONLY) && clients.tracks(id);
        match keyed::execute(core, clients, id, spec, target, args, attempt) {
            Ok(Left::Nothing) if is_tracked => {
                let keys = keys(spec, *args).map(|at| args.at(at));
                note_reads(core, clients, id, keys);
            }
            Ok(Left::Nothing) => {}
            Ok(mut left) => {
                if is_tracked {
                    left.requests()
                        .for_each(|request| track(core, clients, id, request));
                }
                self.go_on(id, left);
            }
            Err(error) => self.refuse(id, Some(spec), &error),
        }
    }

    /// A command on keys waits, or goes elsewhere.
    fn go_on(&mut self, id: ConnectionId, left: Left) {
        match left {
            Left::Nothing => {}
            Left::AwaitView(request) => self.await_view(request),
            Left::Forward(owner, request) => self.forward(owner, request),
            Left::AwaitValues(request, wanted) => self.await_values(request, wanted),
            Left::Redirect(redirect, request) => self.redirect(redirect, request),
            Left::Last(request) => {
                let last = self.clients.begin_alone(id, Last::Request(request));
                if let Some(last) = last {
                    self.begin_now(last);
                }
            }
            Left::Begin(parts) => parts.into_iter().for_each(|part| self.begin(part)),
        }
    }

    /// `REQUEST`.
    pub(crate) fn execute_request(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        match asked(&self.core, &mut self.clients[id], args) {
            Ok(Asked::Now(now)) => self.clients.reply(id, |reply| reply.integer(now)),
            Ok(Asked::Command(inner, args, attempt)) => {
                self.execute_keyed(id, inner, None, &args, Some(attempt));
            }
            Err(error) => {
                self.note_denied(id);
                self.refuse(id, Some(spec), &error);
            }
        }
    }

    /// Puts what was refused to a user into the log, if anything was.
    pub(crate) fn note_denied(&mut self, id: ConnectionId) {
        let denied = self
            .clients
            .get_mut(id)
            .and_then(|it| it.session.denied.take());
        if let Some(denied) = denied {
            self.core.shared.acl_log.lock().note(denied, self.core.unix);
        }
    }

    /// Answers with an error that was found before the command ran.
    pub(crate) fn refuse(
        &mut self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        error: &ErrorReply,
    ) {
        let stats = self.core.stats();
        self.clients.refuse(id, spec, error, stats);
        if is_limit(error) {
            self.on_limited(id, error);
        }
    }

    /// A limit of its user was reached: that is counted, and its telling is free.
    pub(crate) fn on_limited(&mut self, id: ConnectionId, error: &ErrorReply) {
        self.core.stats().errors.limited.add(1);
        let connection = &mut self.clients[id];
        let is_told = wants_reply(connection);
        if let Some(seat) = connection.session.user.as_mut().filter(|_| is_told) {
            seat.note_refusal(error_line(error).len());
        }
    }

    fn turn_reply_mode(&mut self, id: ConnectionId) {
        let session = &mut self.clients[id].session;
        session.reply_mode = match session.reply_mode {
            ReplyMode::SkipNext => ReplyMode::Skip,
            ReplyMode::Skip => ReplyMode::On,
            mode => mode,
        };
    }
}

#[cfg(test)]
#[path = "execute_test.rs"]
mod execute_test;
