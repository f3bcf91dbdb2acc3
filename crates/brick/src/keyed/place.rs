//! Which brick executes what a client asked for: this one, another, or this one later.

use super::request::honest_line;
use super::standing::Standing;
use super::writer_of;
use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::core::TableState;
use crate::effect::Port;
use crate::forward::{Forward, ForwardRequest, Origin, Token, Work};
use crate::gather::{Gather, Join};
use crate::output::Gate;
use crate::remote::only_reads;
use crate::view::Detour;
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, keys, lookup, table::flag};
use brickyard_routing::{Location, Member};
use brickyard_types::Instant;
use brickyard_wire::Protocol;

const CHANGING_HANDS: ErrorReply = ErrorReply::constant(
    "CLUSTERDOWN the key's partition is changing hands; the command was not executed, try again",
);

impl Brick {
    /// Splits a command by key; each part is a command on one key.
    pub(super) fn scatter(
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
        let connection = &self.clients[id];
        let protocol = connection.session.protocol;
        let table = connection.session.table;
        let places: Vec<usize> = keys(spec, *args).collect();
        let bytes = args.from(0).map(<[u8]>::len).sum();
        let gather = Gather::new(join, protocol, places.len())
            .within(self.core.shared.settings.output_max())
            .reading(spec.has(flag::READONLY))
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
        let is_quiet =
            self.stalls.lanes.is_empty() && self.remotes.is_quiet() && self.core.cold.is_idle();
        let id = id.filter(|_| !is_quiet);
        if let Some(lane) = id.and_then(|id| self.lane(&origin, id, &work)) {
            let has_asked = self.has_asked(lane);
            // What waits here for its value would see what this writes elsewhere, or more than this reads there.
            let is_behind_parked =
                self.has_parked(lane) && (has_asked || !self.may_run(&work, table));
            let is_stalled = is_behind_parked
                || self.stalls.lanes.is_busy(lane)
                || self.remotes.near.is_busy(lane);
            if is_stalled || has_asked {
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
            Standing::Refused(error) => {
                self.complete(origin, honest_line(&work, &error), Gate::OPEN);
            }
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
            Standing::Refused(error) => {
                self.complete(origin, honest_line(&work, &error), Gate::OPEN);
            }
            Standing::Elsewhere(_) if work.was_lost() => {
                self.complete(origin, honest_line(&work, &CHANGING_HANDS), Gate::OPEN);
            }
            Standing::Elsewhere(_) => self.refuse_misplaced(work, table, protocol, origin, until),
            Standing::Waits => {
                if let Some(request) = self.request(work, table, protocol, origin.token, until) {
                    self.stall_request(request, origin, until);
                }
            }
        }
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
        let to = self.reader(owner, &origin, state, &work);
        let is_near_backup = to != owner && to.node == self.core.shared.node;
        let is_remote = to.node != self.core.shared.node;
        let table = state.id;
        let work = if is_remote {
            self.name_work(work)
        } else {
            work
        };
        let request = ForwardRequest {
            token,
            table,
            protocol,
            work,
            until,
            lane: None,
            moves: self.core.moves(),
        };
        let has_lane = is_remote || is_near_backup;
        let lane = has_lane.then(|| self.lane(&origin, request.table, &request.work));
        let request = ForwardRequest {
            lane: lane.flatten(),
            ..request
        };
        if is_near_backup {
            self.remotes.near.enter(token, request.lane);
        } else {
            self.remotes.lanes.enter(request.lane);
            if !only_reads(&request.work) {
                self.remotes.writing.enter(request.lane);
            }
        }
        self.core.outbox.push(to, Forward::Request(request));
    }

    /// Where a client has to ask for a key, if that is not here. A client of the node port need not.
    ///
    /// A cluster client knows slots. One that is in parts is the first part's brick's to it, which passes on what is in
    /// another part.
    pub(crate) fn redirect(
        &self,
        port: Port,
        state: &TableState,
        location: Location,
    ) -> Option<ErrorReply> {
        let (member, owner) = (self.core.member(), state.map.owner(location.slot));
        let is_right =
            port == Port::Node || owner == member || state.owner(location.leaf) == member;
        (!is_right).then(|| self.moved(location, owner))
    }

    fn moved(&self, location: Location, owner: Member) -> ErrorReply {
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

    /// Work as it is set aside, or passed on.
    pub(crate) fn request(
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
            moves: self.core.moves(),
        })
    }

    /// Sets a client's work aside until it can run.
    pub(super) fn stall(&mut self, work: Work, table: usize, protocol: Protocol, token: Token) {
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        let until = self.core.deadline();
        if let Some(request) = self.request(work, table, protocol, token, until) {
            self.stall_request(request, origin, until);
        }
    }

    pub(super) fn detour(
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
        let until = self.core.deadline();
        if detour == Detour::AskPrimary {
            // Whoever asks will have heard of the primary, or will.
            return self.refuse_misplaced(work, table, protocol, origin, until);
        }
        if let Some(request) = self.request(work, table, protocol, origin.token, until) {
            self.stall_request(request, origin, until);
        }
    }
}

/// The commands that are split by key: the command on one key, and how the replies join.
pub(super) const fn split(id: CommandId) -> Option<(&'static str, Join)> {
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
