//! Commands on keys: where each runs, and what happens when it cannot run at once.
//!
//! In:  a checked request with keys. Out: its reply in place; or a hole in the output that another
//!      brick, or a value read back from the log, will fill.
//!
//! Invariants:
//! - A command whose keys are all in one slot takes effect at one instant, on every port.
//! - A command that is merely many (MGET, MSET, DEL, ...) is split by key at the node port, and
//!   each key's part takes effect at one instant.
//! - Commands that touch a key which a parked command waits for park behind it.

use crate::batch::Target;
use crate::brick::Brick;
use crate::cold::Parked;
use crate::connection::ConnectionId;
use crate::core::{Core, TableState};
use crate::effect::Port;
use crate::execute::wants_reply;
use crate::forward::{Forward, ForwardReply, ForwardRequest, Origin, Token, Work};
use crate::gather::{Gather, Join, REPLY_TOO_LONG};
use crate::log::{KeyRef, Writer};
use crate::output::{Gate, Opens};
use crate::remote::only_reads;
use crate::settings::Settings;
use crate::stall::Lane;
use crate::transaction::{Step, Transaction};
use crate::view::{Asker, ColdValue, ColdWanted, Detour, View, is_out_of_memory};
use brickyard_command::{
    Args, CommandId, ErrorReply, Failure, OwnedArgs, Spec, check_key_lengths,
    execute as execute_command, is_data_command, keys, lookup, table::flag,
};
use brickyard_replication::Role;
use brickyard_routing::{Location, Member};
use brickyard_table::KeyHash;
use brickyard_types::Instant;
use brickyard_wire::{Protocol, Reply};

pub(crate) const CROSSSLOT: ErrorReply =
    ErrorReply::constant("CROSSSLOT Keys in request don't hash to the same slot");

/// How a command on this brick's keys went.
pub(crate) enum Ran {
    /// The reply is written and waits for this.
    Done(Gate),
    /// It needs these values first; nothing was written.
    Wants(Vec<ColdWanted>),
    /// It cannot be answered here and now; nothing was written.
    Detour(Detour),
}

/// Whether a command may run on a partition here and now.
enum Standing {
    Serves,
    /// Not now.
    Waits,
    /// Another brick orders its operations.
    Elsewhere(Member),
    /// Too few replicas are in sync for a write.
    TooFew(ErrorReply),
}

/// A brick's share of a command on a whole table, set aside.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) work: Work,
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    pub(crate) origin: Origin,
    pub(crate) writer: Writer,
}

/// Everything that a command on one partition is run with.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) spec: &'static Spec,
    pub(crate) args: Args<'a>,
    pub(crate) table: usize,
    /// Where its first key is.
    pub(crate) location: Location,
    pub(crate) protocol: Protocol,
    pub(crate) writer: Writer,
    pub(crate) values: &'a [ColdValue],
}

impl Brick {
    /// Who prepares what this connection writes.
    #[inline]
    pub(crate) fn writer(&self, id: ConnectionId) -> Writer {
        writer_of(self.core.member(), id)
    }

    #[inline]
    pub(crate) fn execute_keyed(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        target: Option<Target>,
        args: &Args<'_>,
    ) {
        let connection = &self.connections[id.0 as usize];
        let table = connection.session.table;
        let protocol = connection.session.protocol;
        let port = connection.accepted.port;
        // The table may have changed since the batch was parsed.
        let target = target.filter(|target| target.table == table);
        let first = spec.key_first as usize;
        let location = match target {
            Some(target) => target.location,
            None => match self.core.locate(table, args.get(first).unwrap_or_default()) {
                Some(location) => location,
                None => return self.refuse(id, Some(spec), &dropped_table()),
            },
        };
        let has_one_key = spec.key_first == spec.key_last;
        if !has_one_key {
            // Before anything is done: a command that is refused must not have done half.
            if let Err(error) = check_key_lengths(spec, *args) {
                return self.refuse(id, Some(spec), &error);
            }
            let slots_agree = keys(spec, *args).all(|at| {
                self.core
                    .locate(table, args.at(at))
                    .is_some_and(|it| it.leaf == location.leaf && it.slot == location.slot)
            });
            if !slots_agree {
                if port == Port::Node
                    && let Some((part, join)) = split(spec.id)
                {
                    return self.scatter(id, spec, part, join, args);
                }
                return self.refuse(id, Some(spec), &CROSSSLOT);
            }
        }
        let Some(state) = self.core.table(table) else {
            return self.refuse(id, Some(spec), &dropped_table());
        };
        let reads_only = spec.has(flag::READONLY);
        // The node port serves whatever is right; a cluster client says that replicas will do.
        let from_backup = port == Port::Node || connection.session.is_readonly;
        let standing = standing(&self.core, state, location.leaf, reads_only, from_backup);
        let standing = if connection.gathers.is_empty() {
            standing
        } else {
            self.behind_earlier(standing, id, location, state)
        };
        match standing {
            Standing::Serves => {}
            Standing::TooFew(error) => return self.refuse(id, Some(spec), &error),
            Standing::Elsewhere(owner) if port == Port::Brick => {
                let moved = self.moved(location, owner);
                return self.refuse(id, Some(spec), &moved);
            }
            elsewhere => {
                let args = args.to_owned();
                let gather = Gather::new(Join::Only, protocol, 1).costing(args.memory_bytes());
                let token = self.open_gather(id, gather);
                let work = Work::Command(spec, args);
                if let Standing::Elsewhere(owner) = elsewhere {
                    let until = self.core.deadline();
                    return self.forward(owner, token, table, protocol, work, until);
                }
                return self.stall(work, table, protocol, token);
            }
        }
        let call = Call {
            spec,
            args: *args,
            table,
            location,
            protocol,
            writer: self.writer(id),
            values: &[],
        };
        if self.must_park(&call) {
            let args = args.to_owned();
            let gather = Gather::new(Join::Only, protocol, 1).costing(args.memory_bytes());
            let token = self.open_gather(id, gather);
            let origin = Origin {
                member: self.core.member(),
                token,
            };
            return self.park(
                Work::Command(spec, args),
                table,
                protocol,
                origin,
                call.writer,
                Vec::new(),
            );
        }
        // The hot path: the reply goes straight into the client's output.
        let connection = &mut self.connections[id.0 as usize];
        let is_wanted = wants_reply(connection);
        let out = connection.output.begin();
        let start = out.len();
        match run(&mut self.core, &call, out) {
            Ran::Done(gate) => {
                if is_wanted {
                    connection.output.end(start, gate);
                } else {
                    // Nor an error, should the log refuse it.
                    out.truncate(start);
                    connection.output.end(start, Gate::OPEN);
                }
            }
            Ran::Wants(wanted) => {
                out.truncate(start);
                connection.output.end(start, Gate::OPEN);
                let args = args.to_owned();
                let gather = Gather::new(Join::Only, protocol, 1).costing(args.memory_bytes());
                let token = self.open_gather(id, gather);
                let origin = Origin {
                    member: self.core.member(),
                    token,
                };
                let work = Work::Command(spec, args);
                self.park(work, table, protocol, origin, self.writer(id), wanted);
            }
            Ran::Detour(detour) => {
                out.truncate(start);
                connection.output.end(start, Gate::OPEN);
                let args = args.to_owned();
                let gather = Gather::new(Join::Only, protocol, 1).costing(args.memory_bytes());
                let token = self.open_gather(id, gather);
                let work = Work::Command(spec, args);
                self.detour(detour, work, table, protocol, token, location.leaf);
            }
        }
    }

    pub(crate) fn moved(&self, location: Location, owner: Member) -> ErrorReply {
        let shared = &self.core.shared;
        let address = self.core.catalog.address(owner);
        // Of a brick that is not in the cluster any more this node will know the successor.
        let (host, port) = address.map_or((shared.advertise_host.as_str(), shared.port), |it| {
            (it.host, it.port)
        });
        let moved = brickyard_routing::Moved {
            slot: location.slot,
            host,
            port,
        };
        ErrorReply::new(moved.to_string())
    }

    /// Leaves a hole in the client's output for a reply in parts.
    pub(crate) fn open_gather(&mut self, id: ConnectionId, mut gather: Gather) -> Token {
        let connection = &mut self.connections[id.0 as usize];
        let hole = connection.output.open_hole();
        gather.is_silent = !wants_reply(connection);
        connection.outstanding += gather.cost;
        connection.gathers.push_back((hole, gather));
        let client = connection.client;
        self.list(id);
        Token {
            connection: id,
            client,
            hole,
            part: 0,
        }
    }

    /// Bytes of replies that a client may leave unread.
    pub(crate) fn output_bytes_max(&self) -> usize {
        let max = Settings::load(&self.core.shared.settings.output_bytes_max);
        usize::try_from(max).unwrap_or(usize::MAX)
    }

    /// Asks another brick.
    pub(crate) fn forward(
        &mut self,
        owner: Member,
        token: Token,
        table: usize,
        protocol: Protocol,
        work: Work,
        until: Instant,
    ) {
        self.core.stats().forwards.add(1);
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        let Some(state) = self.core.table(table) else {
            return;
        };
        let request = ForwardRequest {
            token,
            table: state.id,
            protocol,
            work,
            until,
            lane: None,
        };
        let is_remote = owner.node != self.core.shared.node;
        let lane = is_remote.then(|| self.lane(&origin, request.table, &request.work));
        let request = ForwardRequest {
            lane: lane.flatten(),
            ..request
        };
        self.remotes.lanes.enter(request.lane);
        self.core.outbox.push(owner, Forward::Request(request));
    }

    /// What the connection asked of the partition before is on its way elsewhere, or waits: this goes the
    /// same way (PROTOCOL rule 26).
    fn behind_earlier(
        &self,
        standing: Standing,
        id: ConnectionId,
        location: Location,
        state: &TableState,
    ) -> Standing {
        let lane = Lane {
            member: self.core.member(),
            connection: id,
            partition: location.partition,
        };
        if self.stalls.lanes.is_busy(lane) {
            return Standing::Waits;
        }
        if !self.has_asked(lane) {
            return standing;
        }
        match state.owner(location.leaf) {
            owner if owner != self.core.member() => Standing::Elsewhere(owner),
            _ => Standing::Waits,
        }
    }

    /// Whether something of the lane is with another brick, or about to go there.
    fn has_asked(&self, lane: Lane) -> bool {
        self.remotes.lanes.is_busy(lane)
    }

    /// Splits a command by key; each part is a command on one key.
    fn scatter(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        part: &'static str,
        join: Join,
        args: &Args<'_>,
    ) {
        let Some(part_spec) = lookup(part.as_bytes()) else {
            return;
        };
        let step = spec.key_step as usize;
        if !(args.len() - 1).is_multiple_of(step) {
            return self.refuse(id, Some(spec), &ErrorReply::wrong_arity(spec.name));
        }
        let connection = &self.connections[id.0 as usize];
        let protocol = connection.session.protocol;
        let table = connection.session.table;
        let places: Vec<usize> = keys(spec, *args).collect();
        let bytes = args.from(0).map(<[u8]>::len).sum();
        let gather = Gather::new(join, protocol, places.len())
            .within(self.output_bytes_max())
            .costing(bytes);
        let token = self.open_gather(id, gather);
        for (part, at) in places.into_iter().enumerate() {
            let token = Token {
                part: part as u32,
                ..token
            };
            let mut part_args = OwnedArgs::with_capacity(args.at(at).len() + 8, 1 + step);
            part_args.push(part_spec.name.as_bytes());
            for offset in 0..step {
                part_args.push(args.at(at + offset));
            }
            let work = Work::Command(part_spec, part_args);
            self.place(work, table, protocol, token, Some(args.at(at)));
        }
    }

    /// Runs work for a client of this brick where it belongs: here, or on the brick that owns
    /// `key`.
    pub(crate) fn place(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        token: Token,
        key: Option<&[u8]>,
    ) {
        let until = self.core.deadline();
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        let id = self.core.table(table).map(|state| state.id);
        let is_quiet = self.stalls.is_empty() && self.remotes.lanes.is_empty();
        let id = id.filter(|_| !is_quiet);
        if let Some(lane) = id.and_then(|id| self.lane(&origin, id, &work)) {
            let is_stalled = self.stalls.lanes.is_busy(lane);
            if is_stalled || self.has_asked(lane) {
                let leaf = key.and_then(|key| self.core.locate(table, key));
                let owner = leaf.zip(self.core.table(table));
                let owner = owner.map(|(at, state)| state.owner(at.leaf));
                return match owner {
                    Some(owner) if !is_stalled && owner != self.core.member() => {
                        self.forward(owner, token, table, protocol, work, until);
                    }
                    _ => self.stall(work, table, protocol, token),
                };
            }
        }
        self.place_until(work, table, protocol, token, key, until);
    }

    /// As [`Self::place`], for work that is given up at `until`.
    pub(crate) fn place_until(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        token: Token,
        key: Option<&[u8]>,
        until: Instant,
    ) {
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        match self.standing_of(&work, table, key) {
            Standing::Serves => {
                let writer = self.writer(token.connection);
                self.run_for(work, table, protocol, origin, writer);
            }
            Standing::TooFew(error) => self.complete(origin, error_line(&error), Gate::OPEN),
            Standing::Elsewhere(owner) => self.forward(owner, token, table, protocol, work, until),
            Standing::Waits => {
                if let Some(request) = self.request(work, table, protocol, token, until) {
                    self.stall_request(request, origin, until);
                }
            }
        }
    }

    /// Runs work that another brick has asked for, if it belongs here.
    pub(crate) fn run_for_peer(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        key: Option<&[u8]>,
        until: Instant,
    ) {
        match self.standing_of(&work, table, key) {
            Standing::Serves => {
                let writer = writer_of(origin.member, origin.token.connection);
                self.run_for(work, table, protocol, origin, writer);
            }
            Standing::TooFew(error) => self.complete(origin, error_line(&error), Gate::OPEN),
            Standing::Elsewhere(_) => self.refuse_misplaced(origin.member, origin.token),
            Standing::Waits => {
                if let Some(request) = self.request(work, table, protocol, origin.token, until) {
                    self.stall_request(request, origin, until);
                }
            }
        }
    }

    /// Whether the work may run here and now.
    pub(crate) fn may_run(&self, work: &Work, table: usize) -> bool {
        matches!(
            self.standing_of(work, table, work.first_key()),
            Standing::Serves
        )
    }

    fn standing_of(&self, work: &Work, table: usize, key: Option<&[u8]>) -> Standing {
        let location = key.and_then(|key| self.core.locate(table, key));
        match (location, self.core.table(table)) {
            (Some(location), Some(state)) => {
                let reads_only = only_reads(work);
                standing(&self.core, state, location.leaf, reads_only, true)
            }
            _ => Standing::Serves,
        }
    }

    fn request(
        &self,
        work: Work,
        table: usize,
        protocol: Protocol,
        token: Token,
        until: Instant,
    ) -> Option<ForwardRequest> {
        let state = self.core.table(table)?;
        Some(ForwardRequest {
            token,
            table: state.id,
            protocol,
            work,
            until,
            lane: None,
        })
    }

    /// Sets a client's work aside until it can run.
    fn stall(&mut self, work: Work, table: usize, protocol: Protocol, token: Token) {
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        let until = self.core.deadline();
        if let Some(request) = self.request(work, table, protocol, token, until) {
            self.stall_request(request, origin, until);
        }
    }

    fn detour(
        &mut self,
        detour: Detour,
        work: Work,
        table: usize,
        protocol: Protocol,
        token: Token,
        leaf: u32,
    ) {
        let owner = self.core.table(table).map(|state| state.owner(leaf));
        match (detour, owner) {
            (Detour::AskPrimary, Some(owner)) if owner != self.core.member() => {
                let until = self.core.deadline();
                self.forward(owner, token, table, protocol, work, until);
            }
            _ => self.stall(work, table, protocol, token),
        }
    }

    /// Runs work on this brick whose outcome goes to `origin`.
    pub(crate) fn run_for(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
    ) {
        let is_share = match &work {
            Work::Share(..) => true,
            Work::Command(spec, _) => !is_data_command(spec.id) && spec.id != CommandId::Watch,
            Work::Transaction(_) => false,
        };
        if is_share {
            // It is about what the table holds, so what was prepared before must have committed.
            let gate = self.core.log.barrier();
            if !self.core.log.opens(gate) {
                let share = Share {
                    work,
                    table,
                    protocol,
                    origin,
                    writer,
                };
                return self.deferred.push_back((gate, share));
            }
        }
        self.run_now(work, table, protocol, origin, writer);
    }

    /// As [`Self::run_for`], for a share that has waited for what was prepared before it: what was
    /// prepared since is none of its business, and waiting for that too might never end.
    pub(crate) fn run_now(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
    ) {
        let must_park = !self.core.cold.is_idle()
            && self
                .keys_of(&work, table)
                .iter()
                .any(|key| self.core.cold.is_waited_for(key));
        if must_park {
            return self.park(work, table, protocol, origin, writer, Vec::new());
        }
        match self.rerun(&work, table, protocol, writer, &[]) {
            Ok((bytes, gate)) => self.complete(origin, bytes, gate),
            Err(Missing::Values(wanted)) => {
                self.park(work, table, protocol, origin, writer, wanted);
            }
            Err(Missing::Detour(detour)) => self.take_detour(detour, work, table, protocol, origin),
        }
    }

    /// Work that was not executed here waits, or goes to the primary.
    pub(crate) fn take_detour(
        &mut self,
        detour: Detour,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
    ) {
        let leaf = work
            .first_key()
            .and_then(|key| self.core.locate(table, key))
            .map_or(0, |location| location.leaf);
        if origin.member == self.core.member() {
            return self.detour(detour, work, table, protocol, origin.token, leaf);
        }
        if detour == Detour::AskPrimary {
            // Whoever asks will have heard of the primary, or will.
            return self.refuse_misplaced(origin.member, origin.token);
        }
        let until = self.core.deadline();
        if let Some(request) = self.request(work, table, protocol, origin.token, until) {
            self.stall_request(request, origin, until);
        }
    }

    /// Runs work with the values that were read back for it: its reply, or the values that it
    /// still needs.
    pub(crate) fn rerun(
        &mut self,
        work: &Work,
        table: usize,
        protocol: Protocol,
        writer: Writer,
        values: &[ColdValue],
    ) -> Result<(Vec<u8>, Gate), Missing> {
        let mut out = Vec::new();
        let ran = match work {
            Work::Command(spec, args) => {
                let args = args.as_args();
                if !is_data_command(spec.id) {
                    let gate = self.execute_share(spec, args, 0, table, protocol, &mut out);
                    return Ok((out, gate));
                }
                let key = args.get(spec.key_first as usize).unwrap_or_default();
                let Some(location) = self.core.locate(table, key) else {
                    return Ok((error_line(&dropped_table()), Gate::OPEN));
                };
                let call = Call {
                    spec,
                    args,
                    table,
                    location,
                    protocol,
                    writer,
                    values,
                };
                run(&mut self.core, &call, &mut out)
            }
            Work::Share(spec, args, share) => {
                let args = args.as_args();
                let gate = self.execute_share(spec, args, *share, table, protocol, &mut out);
                return Ok((out, gate));
            }
            Work::Transaction(transaction) => run_transaction(
                &mut self.core,
                transaction,
                table,
                protocol,
                writer,
                values,
                &mut out,
            ),
        };
        match ran {
            Ran::Done(gate) => Ok((out, gate)),
            Ran::Wants(wanted) => Err(Missing::Values(wanted)),
            Ran::Detour(detour) => Err(Missing::Detour(detour)),
        }
    }

    /// The outcome of some work goes to whoever waits for it.
    pub(crate) fn complete(&mut self, origin: Origin, bytes: Vec<u8>, gate: Gate) {
        if origin.member == self.core.member() {
            self.on_part(origin.token, bytes, gate);
            return;
        }
        let reply = ForwardReply {
            token: origin.token,
            bytes,
            is_misplaced: false,
        };
        if self.core.log.opens(gate) {
            self.core.outbox.push(origin.member, Forward::Reply(reply));
        } else {
            self.held_replies.push((gate, origin.member, reply));
        }
    }

    /// A part of a reply is there.
    pub(crate) fn on_part(&mut self, token: Token, bytes: Vec<u8>, gate: Gate) {
        let id = token.connection;
        let output_bytes_max = self.output_bytes_max();
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        if connection.client != token.client {
            return;
        }
        let Some(gather) = connection.gather(token.hole) else {
            return;
        };
        let (join, is_silent) = (gather.kind(), gather.is_silent);
        let Some((whole, gate)) = gather.on_part(token.part, bytes, gate) else {
            return;
        };
        let is_partly_done = gather.is_partly_done();
        connection.end_gather(token.hole);
        let whole = self.on_gathered(token, join, whole);
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        // Who wants no reply wants no error either, should the log refuse what it waits for.
        let (whole, gate) = if is_silent {
            (Vec::new(), Gate::OPEN)
        } else {
            (whole, gate)
        };
        let is_unread = connection.output.len() > output_bytes_max;
        connection.output.fill_hole(token.hole, whole, gate);
        if is_partly_done && !gate.is_open() {
            connection.output.mark_partly_done(token.hole);
        }
        connection.output.advance(&self.core.log);
        if connection.blocked == Some(crate::connection::Blocked::Drain)
            && connection.output.holes() == 0
        {
            connection.blocked = None;
        }
        if is_unread {
            // Its requests are with other bricks already, so it cannot be held back any more.
            self.on_error(id);
        }
        self.list(id);
        self.resume(id);
    }

    pub(crate) fn key_ref(&self, table: usize, key: &[u8]) -> Option<KeyRef> {
        let state = self.core.table(table)?;
        let location = state.map.locate(key);
        let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
        Some(KeyRef {
            table: table as u32,
            partition: partition.local,
            hash: KeyHash(location.key_hash),
        })
    }

    #[inline]
    fn must_park(&self, call: &Call<'_>) -> bool {
        !self.core.cold.is_idle()
            && keys(call.spec, call.args).any(|at| {
                let key = self.key_ref(call.table, call.args.at(at));
                key.is_some_and(|key| self.core.cold.is_waited_for(&key))
            })
    }

    /// The keys of this brick that some work touches.
    fn keys_of(&self, work: &Work, table: usize) -> Vec<KeyRef> {
        let mut all = Vec::new();
        let mut add = |spec: &'static Spec, args: &OwnedArgs| {
            let args = args.as_args();
            all.extend(keys(spec, args).filter_map(|at| self.key_ref(table, args.at(at))));
        };
        match work {
            Work::Share(..) => {}
            Work::Command(spec, args) => add(spec, args),
            Work::Transaction(transaction) => {
                for step in &transaction.steps {
                    if let Step::Command(spec, args) = step {
                        add(spec, args);
                    }
                }
            }
        }
        all
    }

    /// Sets work aside until the values that it wants are there, and the commands on its keys that
    /// were parked before it are done.
    pub(crate) fn park(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
        wanted: Vec<ColdWanted>,
    ) {
        let keys = self.keys_of(&work, table);
        let parked = Parked::new(work, table, protocol, origin, writer, keys);
        let id = self.core.cold.park(parked);
        self.fetch(id, wanted);
        self.run_parked();
    }
}

/// What work lacks to be executed here.
pub(crate) enum Missing {
    Values(Vec<ColdWanted>),
    Detour(Detour),
}

/// Who prepares what a connection of some brick writes.
pub(crate) fn writer_of(member: Member, connection: ConnectionId) -> Writer {
    let node = u64::from(member.node.0) << 44;
    Writer(node | u64::from(member.brick.0) << 32 | u64::from(connection.0))
}

/// What this brick may do with a partition at this moment.
#[inline]
fn standing(
    core: &Core,
    state: &TableState,
    leaf: u32,
    reads_only: bool,
    from_backup: bool,
) -> Standing {
    let partition = state.partitions.get(leaf as usize).and_then(Option::as_ref);
    if let Some(partition) = partition
        && partition.is_primary()
    {
        let status = partition.status;
        let may = if reads_only {
            status.serves_reads
        } else {
            status.accepts_writes && !core.is_adopting()
        };
        if may && core.replicas.is_leased {
            return Standing::Serves;
        }
        return too_few(state, leaf, reads_only).map_or(Standing::Waits, Standing::TooFew);
    }
    if let Some(partition) = partition
        && reads_only
        && from_backup
        && partition.status.role == Role::Backup
        && partition.status.serves_reads
        && core.replicas.is_leased
    {
        return Standing::Serves;
    }
    let owner = state.owner(leaf);
    if owner == core.member() {
        Standing::Waits
    } else {
        Standing::Elsewhere(owner)
    }
}

#[cold]
fn too_few(state: &TableState, leaf: u32, reads_only: bool) -> Option<ErrorReply> {
    let group = state.map.groups().get(leaf as usize)?;
    let (have, want) = (
        group.in_sync().count(),
        usize::from(state.attributes.min_in_sync),
    );
    (!reads_only && have < want).then(|| {
        ErrorReply::new(format!(
            "NOREPLICAS {have} of the replicas of this key are in sync and table '{}' wants {want} for a write; \
             the write was not executed",
            state.name
        ))
    })
}

/// The commands that are split by key: the command on one key, and how the replies join.
const fn split(id: CommandId) -> Option<(&'static str, Join)> {
    match id {
        CommandId::Mget => Some(("get", Join::Array)),
        CommandId::Mset => Some(("set", Join::Ok)),
        CommandId::Del => Some(("del", Join::Sum)),
        CommandId::Unlink => Some(("unlink", Join::Sum)),
        CommandId::Exists => Some(("exists", Join::Sum)),
        CommandId::Touch => Some(("touch", Join::Sum)),
        _ => None,
    }
}

pub(crate) fn dropped_table() -> ErrorReply {
    ErrorReply::constant(
        "ERR the table of this connection was dropped; choose another with TABLE USE or SELECT",
    )
}

pub(crate) fn error_line(error: &ErrorReply) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, Protocol::Resp2).error_bytes(error.as_bytes());
    out
}

/// Whether one call of the command may write more than one key.
#[inline]
const fn writes_many(id: CommandId) -> bool {
    matches!(
        id,
        CommandId::Mset
            | CommandId::Msetnx
            | CommandId::Del
            | CommandId::Unlink
            | CommandId::Rename
            | CommandId::Renamenx
            | CommandId::Copy
            | CommandId::Bitop
    )
}

/// Why a write is refused before it is looked at.
#[inline]
fn admit(core: &Core, spec: &Spec, table: usize) -> Result<(), ErrorReply> {
    let Some(state) = core.table(table) else {
        return Err(dropped_table());
    };
    if spec.has(flag::DENYOOM) && is_out_of_memory(state) {
        core.stats().refused_memory.add(1);
        return Err(ErrorReply::constant(
            "OOM command not allowed when used memory > 'maxmemory'.",
        ));
    }
    if let Some((until, text)) = &core.log_refusal
        && core.now < *until
        && state.is_logged()
        && spec.has(flag::DENYOOM)
    {
        core.stats().refused_disk.add(1);
        return Err(ErrorReply::new(text.clone()));
    }
    let pending = core.log.pending_bytes() as u64;
    let bytes_max = Settings::load(&core.shared.settings.pending_bytes_max);
    let held = core.log.bytes_held() as u64;
    if held > bytes_max {
        core.stats().refused_busy.add(1);
        return Err(ErrorReply::new(format!(
            "BUSY brick {} has {held} bytes of writes waiting for replicas; the write was not executed, try \
             again later",
            core.id
        )));
    }
    if state.is_logged() && pending > bytes_max {
        core.stats().refused_busy.add(1);
        return Err(ErrorReply::new(format!(
            "BUSY brick {} has {pending} bytes of writes waiting for its disk; the write was not \
             executed, try again later",
            core.id
        )));
    }
    Ok(())
}

/// Runs a command on one partition of this brick and writes its reply to `out`.
#[inline]
pub(crate) fn run(core: &mut Core, call: &Call<'_>, out: &mut Vec<u8>) -> Ran {
    let Call {
        spec,
        args,
        table,
        location,
        protocol,
        writer,
        values,
    } = *call;
    let reads_only = spec.has(flag::READONLY);
    let mut reply = Reply::new(out, protocol);
    if !reads_only && let Err(error) = admit(core, spec, table) {
        reply.error_bytes(error.as_bytes());
        return Ran::Done(Gate::OPEN);
    }
    let start = reply.position();
    let asker = Asker {
        writer,
        reads_only,
        writes_many: writes_many(spec.id),
    };
    let key = args.at(spec.key_first as usize);
    let mut view = View::new(core, table, asker, (key, location), values);
    let outcome = execute_command(spec.id, args, &mut view, &mut reply);
    let finished = match outcome {
        Ok(()) => view.finish(),
        Err(Failure::Error(error)) => {
            let finished = view.abandon();
            reply.truncate(start);
            reply.error_bytes(error.as_bytes());
            core.stats().errors.add(1);
            if error.as_bytes().starts_with(b"DAMAGED") {
                core.stats().refused_damaged.add(1);
            }
            if let Some(command) = core.stats().commands_by_id.get(spec.id as usize) {
                command.failed.add(1);
            }
            finished
        }
        Err(Failure::Suspend) => view.abandon(),
    };
    if let Some(detour) = finished.detour {
        reply.truncate(start);
        return Ran::Detour(detour);
    }
    if finished.wanted.is_empty() {
        return Ran::Done(finished.gate);
    }
    reply.truncate(start);
    Ran::Wants(finished.wanted)
}

/// Runs a transaction: its watched keys are as they were, and all of its writes are one record; or
/// nothing happens.
fn run_transaction(
    core: &mut Core,
    transaction: &Transaction,
    table: usize,
    protocol: Protocol,
    writer: Writer,
    values: &[ColdValue],
    out: &mut Vec<u8>,
) -> Ran {
    let first = transaction.steps.iter().find_map(|step| match step {
        Step::Command(spec, args) => args
            .as_args()
            .get(spec.key_first as usize)
            .map(<[u8]>::to_vec),
        Step::Reply(_) => None,
    });
    let first = first.or_else(|| transaction.watches.first().map(|watch| watch.key.clone()));
    let mut reply = Reply::new(out, protocol);
    let Some(location) = first.as_ref().and_then(|key| core.locate(table, key)) else {
        reply.error_bytes(dropped_table().as_bytes());
        return Ran::Done(Gate::OPEN);
    };
    let key = first.unwrap_or_default();
    for step in &transaction.steps {
        if let Step::Command(spec, _) = step
            && !spec.has(flag::READONLY)
            && let Err(error) = admit(core, spec, table)
        {
            reply.error_bytes(error.as_bytes());
            return Ran::Done(Gate::OPEN);
        }
    }
    let asker = Asker {
        writer,
        reads_only: false,
        writes_many: true,
    };
    let mut view = View::new(core, table, asker, (&key, location), values);
    for watch in &transaction.watches {
        match view.version(&watch.key) {
            Ok(op) if op == watch.op => {}
            Ok(_) => {
                reply.null_array();
                return Ran::Done(view.abandon().gate);
            }
            Err(error) => {
                reply.error_bytes(error.as_bytes());
                return Ran::Done(view.abandon().gate);
            }
        }
    }
    let start = reply.position();
    let bytes_max = Settings::load(&view.settings().output_bytes_max);
    let mut is_suspended = false;
    reply.array(transaction.steps.len());
    for step in &transaction.steps {
        if (reply.position() - start) as u64 > bytes_max {
            let gate = view.abandon().gate;
            reply.truncate(start);
            reply.error_bytes(REPLY_TOO_LONG.as_bytes());
            return Ran::Done(gate);
        }
        match step {
            Step::Reply(bytes) => reply.raw(bytes),
            Step::Command(spec, args) => {
                let (start, staged) = (reply.position(), view.staged());
                match execute_command(spec.id, args.as_args(), &mut view, &mut reply) {
                    Ok(()) => {}
                    Err(Failure::Error(error)) => {
                        view.take_back(staged);
                        reply.truncate(start);
                        reply.error_bytes(error.as_bytes());
                    }
                    // Goes on only to see what else it needs: all of it is read at once then.
                    Err(Failure::Suspend) => is_suspended = true,
                }
            }
        }
    }
    if is_suspended {
        let finished = view.abandon();
        if let Some(detour) = finished.detour {
            reply.truncate(start);
            return Ran::Detour(detour);
        }
        let wanted = finished.wanted.iter().map(|want| want.value_len as usize);
        let read: usize = values.iter().map(|value| value.value.len()).sum();
        if (read + wanted.sum::<usize>()) as u64 > bytes_max {
            reply.truncate(start);
            reply.error_bytes(REPLY_TOO_LONG.as_bytes());
            return Ran::Done(finished.gate);
        }
        return Ran::Wants(finished.wanted);
    }
    Ran::Done(view.finish().gate)
}
