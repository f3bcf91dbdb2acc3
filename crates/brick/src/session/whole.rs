//! Commands on the table as a whole: every brick has its share.
//!
//! At the node port the shares of all bricks make the reply; at a brick's own port, as at a node of
//! a Redis cluster, the reply is that brick's share alone and clients add up.

use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::core::{Core, TableState};
use crate::effect::Port;
use crate::gather::{Gather, Join};
use crate::request::{Request, Token, Work};
use brickyard_command::request::{ScanArgs, WaitArgs, parse_flush};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, table::flag};
use brickyard_routing::{Cursor, Member};
use brickyard_types::Instant;
use brickyard_wire::Protocol;

/// A command on a whole table, as its bricks are asked.
#[derive(Debug)]
pub(crate) struct Shares {
    pub(crate) spec: &'static Spec,
    pub(crate) args: OwnedArgs,
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    /// Each share is named, so that together they are the table; else a brick gives what it has.
    pub(crate) is_named: bool,
    /// When they are given up.
    pub(crate) deadline: Instant,
    /// They were asked before, in vain.
    pub(crate) is_again: bool,
}

impl Brick {
    pub(super) fn execute_whole(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        if let Err(error) = check(spec, *args) {
            return self.refuse(id, Some(spec), &error);
        }
        let connection = &self.clients[id];
        let (table, protocol) = (connection.session.table, connection.session.protocol);
        if self.core.table(table).is_none() {
            return self.refuse(id, Some(spec), &crate::keyed::dropped_table());
        }
        if let Some(error) = self.offline_of(id, spec, table) {
            return self.refuse(id, Some(spec), &error);
        }
        let connection = &self.clients[id];
        let is_everywhere = connection.accepted.port == Port::Node;
        let bricks = if is_everywhere {
            self.sharers(spec, *args, table)
        } else {
            vec![self.core.member()]
        };
        let join = match spec.id {
            CommandId::Dbsize => Join::Sum,
            CommandId::Keys => Join::Concat,
            CommandId::Flushdb | CommandId::Flushall => Join::Ok,
            CommandId::Randomkey => Join::Any(self.core.random.next()),
            _ => Join::Only,
        };
        let gather = Gather::new(join, protocol, bricks.len())
            .within(self.core.shared.settings.output_max())
            .reading(spec.has(flag::READONLY));
        let token = self.open_gather(id, gather);
        // What the client wrote on its way to other bricks must be there before it is counted.
        self.clients[id].blocked = Some(Blocked::Drain);
        let share = match spec.id {
            CommandId::Flushall => self.flushed_by(id),
            _ => args.to_owned(),
        };
        let asked = Shares {
            spec,
            args: share,
            table,
            protocol,
            is_named: is_everywhere,
            deadline: self.core.deadline(),
            is_again: false,
        };
        self.ask_shares(&asked, bricks, token);
    }

    /// Why a table cannot be asked as a whole, nor all be flushed: one of them is offline.
    fn offline_of(&self, id: ConnectionId, spec: &Spec, table: usize) -> Option<ErrorReply> {
        if spec.id != CommandId::Flushall {
            return self.core.table(table)?.refusal();
        }
        let user = self.clients[id].session.user.as_ref()?;
        let states = self.core.tables.iter().flatten();
        let mut writable = states.filter(|state| user.rights(&state.name).write);
        writable.find_map(TableState::refusal)
    }

    /// The bricks whose shares make up the table, or the answer.
    fn sharers(&self, spec: &Spec, args: Args<'_>, table: usize) -> Vec<Member> {
        match spec.id {
            CommandId::Scan => vec![self.scanned_brick(table, args)],
            CommandId::Flushall => self.core.primaries(None),
            _ => self.core.primaries(Some(table)),
        }
    }

    /// Asks each brick for its share, as the parts of a reply from `token`'s part on.
    fn ask_shares(&mut self, asked: &Shares, bricks: Vec<Member>, token: Token) {
        let Shares {
            spec,
            args,
            table,
            protocol,
            is_named,
            deadline,
            is_again,
        } = asked;
        let Some(table_id) = self.core.table(*table).map(|state| state.id) else {
            return;
        };
        for (part, brick) in bricks.into_iter().enumerate() {
            let token = Token {
                part: token.part + part as u32,
                ..token
            };
            let share = match is_named {
                true => self.core.share(spec, args.as_args(), *table, brick),
                false => 0,
            };
            let work = Work::Share(spec, args.clone(), share);
            let origin = self.core.own(token);
            let mut request = Request::new(origin, table_id, *protocol, work, *deadline);
            request.has_waited = *is_again;
            if brick == self.core.member() {
                self.serve(request);
            } else {
                self.forward(brick, request);
            }
        }
    }

    /// A share of a command that only reads could not be had: all of them are asked for anew, by the map that there is
    /// now, since together they must be the table.
    pub(crate) fn ask_shares_again(&mut self, asked: &Shares, token: Token) {
        let bricks = self.sharers(asked.spec, asked.args.as_args(), asked.table);
        let connection = self.clients.named_mut(token);
        let gather = connection.and_then(|it| it.gather(token.hole));
        if let Some(part) = gather.and_then(|it| it.begin_again(token.part, bricks.len())) {
            self.ask_shares(asked, bricks, Token { part, ..token });
        }
    }

    /// A command about what this brick holds: answered once what was prepared before has committed.
    pub(super) fn ask_own_share(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let session = &self.clients[id].session;
        let (table, protocol) = (session.table, session.protocol);
        let Some(table) = self.core.table(table).map(|state| state.id) else {
            return self.refuse(id, Some(spec), &crate::keyed::dropped_table());
        };
        let token = self.open_gather(id, Gather::new(Join::Only, protocol, 1));
        self.clients[id].blocked = Some(Blocked::Drain);
        let work = Work::Share(spec, args.to_owned(), 0);
        let (origin, deadline) = (self.core.own(token), self.core.deadline());
        self.serve(Request::new(origin, table, protocol, work, deadline));
    }

    /// `FLUSHALL` as the bricks get it: with the names of the tables that its user may write.
    fn flushed_by(&self, id: ConnectionId) -> OwnedArgs {
        let user = self.clients[id].session.user.as_ref();
        let names = self.core.table_by_name.keys().map(String::as_str);
        let writable = names.filter(|name| user.is_some_and(|user| user.rights(name).write));
        std::iter::once("flushall").chain(writable).collect()
    }

    /// The brick on which a scan goes on.
    fn scanned_brick(&self, table: usize, args: Args<'_>) -> Member {
        let Some(state) = self.core.table(table) else {
            return self.core.member();
        };
        let cursor = ScanArgs::parse(args).map_or(0, |scan| scan.cursor);
        let point = state.map.partitions().resume(Cursor::decode(cursor));
        state.owner(point.leaf as u32)
    }

    /// A reply in parts is whole; some mean more than they say.
    pub(crate) fn on_gathered(&mut self, token: Token, join: Join, whole: Vec<u8>) -> Vec<u8> {
        match join {
            Join::Watch => self.on_watched(token, &whole),
            Join::Exec => self.on_executed(token, whole),
            Join::Saved { in_background } => self.on_saved(in_background, whole),
            Join::Killed => Self::old_kill_reply(&whole),
            _ => whole,
        }
    }

    /// `WAIT`: what was acknowledged is in every in-sync replica already, and replies come in order; so there is
    /// something to wait for only where there are fewer of them than asked for.
    pub(super) fn wait(&mut self, id: ConnectionId, args: &Args<'_>) {
        let wait = match WaitArgs::parse(*args) {
            Ok(wait) => wait,
            Err(error) => return self.reply(id, |reply| reply.error_bytes(error.as_bytes())),
        };
        let session = &self.clients[id].session;
        let (table, protocol) = (session.table, session.protocol);
        let backups = self.core.backups(table);
        if wait.replicas <= backups {
            return self.reply(id, |reply| reply.integer(backups));
        }
        let hole = self
            .open_gather(id, Gather::new(Join::Only, protocol, 1))
            .hole;
        let until = (wait.timeout_ms > 0)
            .then(|| self.core.now + std::time::Duration::from_millis(wait.timeout_ms));
        self.clients[id].blocked = Some(Blocked::Wait { until, hole });
    }
}

fn check(spec: &Spec, args: Args<'_>) -> Result<(), ErrorReply> {
    match spec.id {
        CommandId::Scan => ScanArgs::parse(args).map(|_| ()),
        CommandId::Flushdb | CommandId::Flushall => parse_flush(args).map(|_| ()),
        _ => Ok(()),
    }
}

impl Core {
    /// How many replicas beside the primary have whatever was acknowledged in the table.
    pub(crate) fn backups(&self, table: usize) -> i64 {
        self.table(table).map_or(0, TableState::backups_min)
    }

    /// All bricks that are primary for something of a table, or of any.
    fn primaries(&self, table: Option<usize>) -> Vec<Member> {
        let states = self.tables.iter().flatten();
        let only = table.and_then(|table| self.table(table)).map(|it| it.id);
        let states = states.filter(|state| only.is_none_or(|only| only == state.id));
        let mut members: Vec<Member> = states
            .flat_map(|state| state.map.groups())
            .map(|group| group.primary.member)
            .collect();
        members.sort_unstable();
        members.dedup();
        members
    }
}
