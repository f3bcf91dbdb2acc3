//! What happens to a request next: it runs here, waits here, or goes to another brick.
//!
//! In:  a [`Request`] of a client of this brick, of another brick of the node, or of another node. Out: its reply; or the
//!      same request in [`crate::requests`], with what it waits for; or a message to the brick that orders it.
//!
//! Invariants:
//! - What one connection asks of one slot runs in the order in which it was sent, wherever it runs (rule
//!   `reads follow own writes`).
//! - A request keeps its deadline, however often it comes through here (rule `only the primary expires keys`).
//! - A request of a peer that another brick orders goes back to that peer: it is not passed on.
//!
//! The files: this one the way of a request, and back for want of room (`room` says whose), `values` requests that wait for values of the log, `expire` what becomes of
//! those whose time is up, `copies` what bricks say of copies that clients keep. Not here: what a command does (`keyed`).

mod copies;
mod expire;
mod room;
mod values;
pub(crate) mod waits;

pub(crate) use expire::lose;

use crate::accepted::ConnectionId;
use crate::batch::BATCH_BYTES_MAX;
use crate::brick::Brick;
use crate::channels::Published;
use crate::coordinate::Coordinator;
use crate::distributed::{Action, Seen};
use crate::effect::Effect;
use crate::forward::{Forward, ForwardReply, NoRoom, ReplyKind};
use crate::keyed::{
    Admission, Caller, Missing, admission_of, execute_work, honest_line, may_run,
    must_await_values, name_work,
};
use crate::output::{CommitDependency, Meets};
use crate::peer::Peers;
use crate::refusal::{CHANGING_HANDS, error_line, no_table};
use crate::remote::{Exchange, Message, NotExecuted, decode, unknown};
use crate::request::{Origin, Request, SessionOrder, Token, UNBOUNDED, Work};
use crate::requests::{Held, Place};
use crate::room::CameBack;
use crate::session::export::is_of_export;
use crate::session::next::Subrequests;
use crate::session::save::checkpoint_for;
use crate::session::subrequest::{SubrequestAdmission, may_clear, subrequest_admission};
use crate::tracking::Notice;
use crate::view::{ColdWanted, Redirect};
use brickyard_command::{CommandId, ErrorReply, table::flag};
use brickyard_routing::{Member, Replica};
use brickyard_types::Instant;
use copies::Copies;
use expire::End;
use room::is_stalled;
use std::collections::BTreeSet;
use values::RanWithValues;
use waits::{await_view_again, busy, set_order};

/// Bytes of replies that requests of other bricks may make in one run; few bytes can ask for many.
const RUN_BYTES_MAX: usize = 8 << 20;

/// Requests of other bricks in one run.
const RUN_REQUESTS_MAX: usize = 1024;

/// A subrequest is asked of a brick that has another map, or does not have its partitions now.
const SUBREQUESTS_DIFFER: ErrorReply = ErrorReply::constant(
    "CLUSTERDOWN the bricks see different maps of the table: a view is changing; the subrequest was not executed, try \
     again",
);

impl Brick {
    /// A request of a client of this brick begins: it runs where it belongs, behind what its connection has asked of the
    /// slot before.
    pub(crate) fn begin(&mut self, mut request: Request) {
        if self.core.requests.orders().is_empty() {
            return self.dispatch(request);
        }
        set_order(&self.core.tables, &mut request);
        let Some(order) = request.order else {
            return self.dispatch(request);
        };
        let orders = self.core.requests.orders();
        let is_away = orders.is_away(order);
        // What waits here for its value would see what this writes elsewhere, or more than this reads there.
        let is_behind_values =
            orders.is_at(order, Place::Values) && (is_away || !may_run(&self.core, &request));
        let waits =
            is_behind_values || orders.holds_up(order) || orders.is_at(order, Place::LocalRead);
        if !waits && !is_away {
            return self.dispatch(request);
        }
        match self.orderer(&request) {
            // As for a command that is not a request yet (`keyed`).
            Some(owner) if !waits && owner.node != self.core.member().node => {
                self.forward(owner, request);
            }
            _ => self.await_view(request),
        }
    }

    /// Begins a transaction whose keys are of several slots.
    fn coordinate(&mut self, mut request: Request) {
        self.reserve(&mut request, 0);
        Coordinator::new(&mut self.core).begin(request);
        self.see_to_transactions();
    }

    /// An answer to a part of a distributed transaction.
    pub(crate) fn on_transaction_answer(&mut self, token: Token, bytes: Vec<u8>) {
        self.core.requests.distributed.answer(token, bytes);
        self.see_to_transactions();
    }

    /// Does what distributed transactions have left to do, and looks at what comes of it, one after the other: some of it comes
    /// at once. What scripts leave no time for is for the next turn.
    pub(crate) fn see_to_transactions(&mut self) {
        if !self.core.requests.distributed.begin_drive() {
            return;
        }
        while !self.scripts_have_had_their_turn() {
            match self.core.requests.distributed.next_step() {
                Some(Seen::Action(action)) => self.carry_out(action),
                Some(Seen::Answer(token, bytes)) => {
                    Coordinator::new(&mut self.core).on_answer(token, &bytes);
                }
                None => break,
            }
        }
        self.core.requests.distributed.end_drive();
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Begin(request) => self.begin(*request),
            Action::Reply {
                origin,
                bytes,
                dependency,
                deadline,
            } => self.complete(origin, bytes, dependency, deadline),
            Action::GiveBack(request, needed) => self.give_back(*request, needed),
            Action::Redispatch(request) => self.redispatch(*request),
        }
    }

    /// A request that was here may not be executed here any more, or not now.
    fn redispatch(&mut self, request: Request) {
        if request.origin.member == self.core.member() {
            self.begin(request);
        } else {
            self.begin_peers(request);
        }
    }

    /// A request of another brick begins.
    fn begin_peers(&mut self, mut request: Request) {
        assert_ne!(request.origin.member, self.core.member(), "no peer's");
        if !self.core.requests.orders().is_empty() {
            set_order(&self.core.tables, &mut request);
            let orders = self.core.requests.orders();
            if request.order.is_some_and(|it| orders.holds_up(it)) {
                return self.await_view(request);
            }
        }
        self.dispatch(request);
    }

    /// A request runs, waits, or goes to another brick; nothing of its order is before it.
    fn dispatch(&mut self, request: Request) {
        if self.core.tables.index_of(request.table).is_none() {
            if self.core.tables.catalog().may_make_table(request.table) {
                // Another brick has heard of it before this one.
                return self.await_view(request);
            }
            let error = no_table(request.work.named());
            return self.respond(&request, error_line(&error), CommitDependency::NONE);
        }
        let is_own = request.origin.member == self.core.member();
        match admission_of(&self.core, &request) {
            Admission::Serves => self.serve(request),
            Admission::Refused(error) => {
                let line = honest_line(&request.work, &error);
                self.respond(&request, line, CommitDependency::NONE);
            }
            Admission::Elsewhere(owner) if is_own => self.forward(owner, request),
            Admission::Elsewhere(_) => self.send_back(request),
            Admission::Waits => self.await_view(request),
        }
    }

    /// Runs a request on this brick.
    pub(crate) fn serve(&mut self, mut request: Request) {
        if request.work.is_about_all() {
            // It is about what the table holds, so what was prepared before must have committed.
            let dependency = self.core.log.barrier();
            if !self.core.log.meets(dependency) {
                self.reserve(&mut request, 0);
                return self.core.requests.await_barrier(dependency, request);
            }
        }
        self.serve_now(request);
    }

    /// Runs a request whatever was prepared before it: it has waited for that, and for what was prepared since it waits
    /// in vain, since that might never end.
    pub(crate) fn serve_now(&mut self, request: Request) {
        if self.is_stalled(&request) {
            return self.give_back(request, 0);
        }
        let Some(table) = self.core.tables.index_of(request.table) else {
            let error = no_table(request.work.named());
            return self.respond(&request, error_line(&error), CommitDependency::NONE);
        };
        if let Work::Subrequest(spec, args, subrequest) = &request.work {
            if matches!(spec.id, CommandId::Save | CommandId::Bgsave) {
                return checkpoint_for(&mut self.core, &mut self.calls, request.origin);
            }
            let admission =
                subrequest_admission(&self.core, spec, args.as_args(), *subrequest, table);
            if !matches!(admission, SubrequestAdmission::Serves) {
                return self.set_subrequest_aside(admission, request);
            }
            if !may_clear(&mut self.core, spec, args.as_args(), table) {
                return self.await_view(request);
            }
        }
        if request.work.has_scripts() && self.scripts_have_had_their_turn() {
            self.core.replicas.wake();
            return self.await_view(request);
        }
        if let Work::Transaction(transaction) = &request.work
            && transaction.anchor.is_some()
        {
            // What it waits for its parts say.
            return self.coordinate(request);
        }
        if must_await_values(&self.core, &request.work, table) {
            return self.await_values(request, Vec::new());
        }
        let caller = Caller::of(&request, table, self.core.member());
        let (core, clients) = (&mut self.core, &mut self.clients);
        match execute_work(core, clients, &request.work, caller, &[]) {
            Ok((bytes, dependency)) => self.respond(&request, bytes, dependency),
            Err(Missing::Values(wanted)) => self.await_values(request, wanted),
            Err(Missing::Redirect(redirect)) => self.redirect(redirect, request),
            Err(Missing::Room(needed)) => self.give_back(request, needed),
        }
    }

    /// A subrequest that cannot be had now waits. Where the maps differ all shares are asked for anew, by one map, unless
    /// some of them may have been executed.
    pub(crate) fn set_subrequest_aside(
        &mut self,
        admission: SubrequestAdmission,
        request: Request,
    ) {
        let is_own = request.origin.member == self.core.member();
        match admission {
            SubrequestAdmission::TooFew(error) => {
                self.respond(&request, error_line(&error), CommitDependency::NONE);
            }
            SubrequestAdmission::Differs if !is_own => self.send_back(request),
            SubrequestAdmission::Differs if !request.work.only_reads() => {
                self.respond(
                    &request,
                    error_line(&SUBREQUESTS_DIFFER),
                    CommitDependency::NONE,
                );
            }
            SubrequestAdmission::Serves
            | SubrequestAdmission::Waits
            | SubrequestAdmission::Differs => {
                self.await_view(request);
            }
        }
    }

    /// A request that was not executed here waits, or goes to the primary.
    pub(crate) fn redirect(&mut self, redirect: Redirect, request: Request) {
        let is_own = request.origin.member == self.core.member();
        match (redirect, self.orderer(&request)) {
            // Whoever asks will have heard of the primary, or will.
            (Redirect::AskPrimary, _) if !is_own => self.send_back(request),
            (Redirect::AskPrimary, Some(owner)) if owner != self.core.member() => {
                self.forward(owner, request);
            }
            _ => self.await_view(request),
        }
    }

    /// The brick that orders what a request is about.
    fn orderer(&self, request: &Request) -> Option<Member> {
        let table = self.core.tables.index_of(request.table)?;
        let leaf = self.core.locate(table, request.work.first_key()?)?.leaf;
        Some(self.core.table(table)?.owner(leaf))
    }

    /// Asks another brick for a client of this one.
    pub(crate) fn forward(&mut self, owner: Member, mut request: Request) {
        assert_eq!(
            request.origin.member,
            self.core.member(),
            "a request of another brick is passed on: {request:?}"
        );
        if self.is_stalled(&request) {
            return self.give_back(request, 0);
        }
        self.reserve(&mut request, 0);
        self.core.stats().forwards.add(1);
        let me = self.core.member();
        let to = Exchange::new(&mut self.core, &mut self.remotes).reader(owner, &request);
        assert_ne!(to, me, "a request is sent to the brick that has it");
        if to.node != me.node {
            let (core, ids) = (&mut self.core, &mut self.remotes.ids);
            request.work = name_work(request.work, || ids.draw(&mut core.random, core.unix));
            set_order(&self.core.tables, &mut request);
            return Exchange::new(&mut self.core, &mut self.remotes).send_to(to, request);
        }
        if to != owner {
            // A backup: it may refuse, so what comes after it waits.
            set_order(&self.core.tables, &mut request);
            let token = request.origin.token;
            self.core.requests.enter_local_read(token, request.order);
        }
        self.core.outbox.push(to, Forward::Request(request));
    }

    /// Tells another brick that its request does not belong here; it was not executed. One of this node gets it back, since it has
    /// not kept it.
    pub(crate) fn send_back(&mut self, request: Request) {
        let Origin { member, token } = request.origin;
        assert_ne!(member, self.core.member(), "it goes back to this brick");
        if request.work.was_lost() {
            let line = honest_line(&request.work, &CHANGING_HANDS);
            return self.respond(&request, line, CommitDependency::NONE);
        }
        if member.node == self.core.shared.identity.node && !token.is_of_part() {
            let message = Forward::Returned(Box::new(request));
            return self.core.outbox.push(member, message);
        }
        let reply = ForwardReply::undone(token, ReplyKind::Misplaced);
        self.core.outbox.reply(member, reply);
    }

    /// The outcome of a request goes to whoever waits for it.
    pub(crate) fn respond(
        &mut self,
        request: &Request,
        bytes: Vec<u8>,
        dependency: CommitDependency,
    ) {
        let deadline = request.has_waited.then_some(request.deadline);
        self.complete(request.origin, bytes, dependency, deadline);
    }

    /// The same for what is no request any more: `deadline` is when its reply is given up, if it has one of its own.
    pub(crate) fn complete(
        &mut self,
        origin: Origin,
        bytes: Vec<u8>,
        dependency: CommitDependency,
        deadline: Option<Instant>,
    ) {
        let Origin { member, token } = origin;
        let is_open = self.core.log.meets(dependency);
        // Bricks of other nodes look at the time themselves.
        let is_local = member.node == self.core.shared.identity.node;
        let deadline = deadline.filter(|_| is_local && !is_open);
        if member == self.core.member() && (is_open || !self.has_later(token)) {
            if let Some(deadline) = deadline {
                self.core.requests.replies.expect(deadline, origin);
            }
            self.on_part(token, bytes, dependency);
        } else if member != self.core.member() && is_open {
            let reply = ForwardReply::new(token, bytes);
            self.core.outbox.reply(member, reply);
        } else {
            self.core.requests.replies.hold(Held {
                dependency,
                origin,
                deadline,
                bytes,
            });
        }
    }

    /// Replies to other bricks whose time has come leave, and what waits for what was prepared before it runs.
    pub(crate) fn let_out_requests(&mut self) {
        for (origin, bytes) in self.core.requests.replies.take_open(&self.core.log) {
            let Origin { member, token } = origin;
            if member == self.core.member() {
                self.on_part(token, bytes, CommitDependency::NONE);
            } else {
                let reply = ForwardReply::new(token, bytes);
                self.core.outbox.reply(member, reply);
            }
        }
        while let Some(request) = self.core.requests.take_behind_barrier(&self.core.log) {
            self.serve_now(request);
        }
    }

    /// A request waits until something changes.
    pub(crate) fn await_view(&mut self, mut request: Request) {
        self.reserve(&mut request, 0);
        let refused = waits::await_view(&mut self.core, request, None);
        self.tell_refused(refused);
    }

    fn tell_refused(&mut self, refused: Option<(Request, Vec<u8>)>) {
        if let Some((request, line)) = refused {
            self.respond(&request, line, CommitDependency::NONE);
        }
    }

    /// Takes a request of another brick, to be executed in its turn.
    #[inline]
    pub(crate) fn take_request(&mut self, from: Member, mut request: Request) {
        assert_eq!(
            request.origin.member, from,
            "a request came from another brick than waits for it: {request:?}"
        );
        if from.node != self.core.shared.identity.node {
            request.deadline = self.core.deadline();
        }
        if self.core.requests.has_turn_for(&request) {
            return self.core.requests.await_turn(request);
        }
        let (bytes, _) = self.core.requests.bytes();
        let line = busy(&self.core, bytes, "requests of other bricks waiting");
        self.respond(&request, line, CommitDependency::NONE);
    }

    /// Executes what other bricks have asked, a run's worth of it.
    pub(crate) fn run_ready(&mut self) {
        for _ in 0..RUN_REQUESTS_MAX {
            let is_full = self.remotes.is_choked()
                || self.core.outbox.bytes() > RUN_BYTES_MAX
                || self.core.log.building_len() > BATCH_BYTES_MAX;
            if is_full {
                break;
            }
            let Some(request) = self.core.requests.take_ready() else {
                break;
            };
            self.begin_peers(request);
        }
    }

    /// Dispatches anew what waits for a view, if anything has changed since.
    pub(crate) fn retry_waiting(&mut self) {
        let is_woken = std::mem::take(&mut self.core.replicas.is_woken);
        if !is_woken || !self.core.requests.has_view() {
            return;
        }
        let mut still: BTreeSet<SessionOrder> = BTreeSet::new();
        // What has to wait again is looked at when something has changed again.
        for id in self.core.requests.take_view() {
            let order = self.core.requests.get(id).and_then(|it| it.order);
            let orders = self.core.requests.orders();
            let is_behind = order.is_some_and(|order| {
                still.contains(&order)
                    || orders.is_away(order)
                    || orders.is_at(order, Place::Values)
            });
            let backs_off = self.core.requests.backoff(id).is_some_and(|backoff| {
                self.core.now < backoff.until
                    && backoff.catalog == self.core.tables.catalog().version()
            });
            if is_behind || backs_off {
                still.extend(order);
                self.core.requests.keep_view(id);
                continue;
            }
            let Some(request) = self.core.requests.take(id) else {
                continue;
            };
            let before = self.core.requests.view_len();
            self.dispatch_again(request);
            if self.core.requests.view_len() > before {
                still.extend(order);
            }
        }
    }

    fn dispatch_again(&mut self, mut request: Request) {
        // It may have waited for a table whose slots nobody knew here.
        request.order = None;
        set_order(&self.core.tables, &mut request);
        let is_own = request.origin.member == self.core.member();
        match request.work {
            // Together the subrequests must be the table, so all are asked for by one map.
            Work::Subrequest(spec, args, subrequest)
                if is_own && subrequest != 0 && spec.has(flag::READONLY) =>
            {
                let Some(table) = self.core.tables.index_of(request.table) else {
                    let error = error_line(&no_table(None));
                    return self.complete(request.origin, error, CommitDependency::NONE, None);
                };
                let asked = Subrequests {
                    spec,
                    args,
                    table,
                    protocol: request.protocol,
                    is_named: true,
                    deadline: request.deadline,
                    is_again: true,
                };
                self.ask_subrequests_again(&asked, request.origin.token);
            }
            _ => self.dispatch(request),
        }
    }

    /// Something goes to other nodes, or comes from them; clients are told what became of their requests.
    fn exchange(&mut self, happens: impl FnOnce(&mut Exchange<'_>, &Peers)) {
        let mut exchange = Exchange::new(&mut self.core, &mut self.remotes);
        happens(&mut exchange, &self.peers);
        let (answers, returned) = exchange.end();
        for (token, bytes) in answers {
            self.on_part(token, bytes, CommitDependency::NONE);
        }
        for came_back in returned {
            self.on_not_executed(came_back);
        }
    }

    /// Sends what is for other nodes, as far as there are streams.
    pub(crate) fn send_remote(&mut self) {
        self.exchange(|exchange, _| exchange.tell());
        self.exchange(|exchange, peers| exchange.send_remote(peers));
    }

    /// What there is of copies that clients keep.
    pub(crate) fn copies(&mut self) -> Copies<'_> {
        Copies::new(&mut self.core, &mut self.clients)
    }

    /// Clients and bricks are told what they are to be told of copies.
    pub(crate) fn send_notices(&mut self) {
        for token in self.copies().send() {
            self.on_part(token, b"+OK\r\n".to_vec(), CommitDependency::NONE);
        }
    }

    /// What was published here goes wherever somebody may subscribe.
    pub(crate) fn send_published(&mut self) {
        for published in self.core.outbox.take_published() {
            self.deliver(&published);
            self.exchange(|exchange, _| exchange.post(&published));
        }
    }

    /// Whoever of this node subscribes gets a message.
    fn deliver(&mut self, published: &Published) {
        let own = self.core.member();
        for brick in self.core.shared.channels.receivers(published).bricks {
            assert!(brick.0 < self.core.bricks(), "{brick} is none of this node");
            if brick == own.brick {
                self.clients.deliver(published, &self.core.shared.settings);
            } else {
                let to = Member { brick, ..own };
                let message = Forward::Published(published.clone());
                self.core.outbox.push(to, message);
            }
        }
    }

    /// Takes what other nodes' bricks have sent.
    pub(crate) fn take_messages(&mut self) {
        for (peer, bytes) in std::mem::take(&mut self.core.replicas.messages) {
            match decode(peer.member, &bytes) {
                Some(Message::Request(request)) => {
                    if request.is_tracked {
                        self.copies().dial_holder(peer.member);
                    }
                    self.take_request(peer.member, *request);
                }
                Some(Message::Reply(number, reply)) => {
                    self.exchange(|exchange, _| exchange.on_reply(peer, number, reply));
                }
                Some(Message::Resume(client)) => self.core.requests.stalls.end(peer.member, client),
                Some(Message::Published(published)) => self.deliver(&published),
                Some(Message::Notice(notice)) => self.on_notice(peer.member, notice),
                None => {
                    let text = format!("brick {peer} sent a message that is none; it was ignored");
                    self.core.effects.push_back(Effect::Report(text));
                }
            }
        }
    }

    /// Another brick tells something of what clients keep, or follow.
    pub(crate) fn on_notice(&mut self, from: Member, notice: Notice) {
        match notice {
            Notice::Changed { client, round } => self.on_changed(client, round),
            notice => self.copies().on_notice(from, notice),
        }
    }

    /// The stream to a brick is gone, and what it had been asked with it.
    pub(crate) fn on_remote_lost(&mut self, peer: Replica) {
        self.exchange(|exchange, _| exchange.on_lost(peer));
        self.copies().lose(peer.member);
        self.feeds.wake_all();
    }

    /// By a new catalog partitions go on without bricks that were asked.
    pub(crate) fn leave_removed(&mut self) {
        self.exchange(|exchange, _| exchange.leave_removed());
    }

    /// A request waits for values.
    pub(crate) fn await_values(&mut self, mut request: Request, wanted: Vec<ColdWanted>) {
        let known = wanted.iter().map(|want| want.value_len as usize).sum();
        self.reserve(&mut request, known);
        values::await_values(&mut self.core, request, wanted);
        self.run_with_values();
    }

    /// A value was read, or could not be.
    pub(crate) fn on_read(&mut self, token: u64, value: Result<&[u8], String>) {
        if is_of_export(token) {
            return self.on_export_read(token, value);
        }
        for (request, line) in values::on_read(&mut self.core, token, value) {
            self.respond(&request, line, CommitDependency::NONE);
        }
        self.run_with_values();
        if self.core.is_adopting() {
            self.adopt_waiting();
        }
    }

    /// Runs requests that need not wait for values any longer.
    fn run_with_values(&mut self) {
        while let Some(ran) = values::run_next(&mut self.core, &mut self.clients) {
            match ran {
                RanWithValues::Done(id, bytes, dependency) => {
                    if let Some(request) = values::take(&mut self.core, id) {
                        self.respond(&request, bytes, dependency);
                    }
                }
                RanWithValues::Redirect(id, redirect) => self.redirect_from_values(id, redirect),
                RanWithValues::NoRoom(id, needed) => {
                    if let Some(request) = values::take(&mut self.core, id) {
                        self.give_back(request, needed);
                    }
                }
            }
        }
    }

    /// A request waits for something else, or goes elsewhere; and with it what its connection sent
    /// after it on its keys, which would overtake it (rule `reads follow own writes`).
    fn redirect_from_values(&mut self, id: usize, redirect: Redirect) {
        let behind = self.core.requests.values.behind(id);
        if let Some(request) = self.core.requests.take(id) {
            self.redirect(redirect, request);
        }
        for id in behind {
            if let Some(request) = self.core.requests.take(id) {
                self.redirect(Redirect::Wait, request);
            }
        }
    }

    /// Ends what has waited too long, or what waits here in vain.
    pub(crate) fn end_overdue(&mut self) {
        if expire::end_replies(&mut self.core, &mut self.clients) {
            self.let_out();
        }
        for (request, state) in expire::take_overdue(&mut self.core, &self.remotes) {
            match expire::end(&mut self.core, &mut self.remotes, &request, state) {
                End::Answered => {}
                End::Unknown(reason) => {
                    let line = unknown(&reason);
                    self.on_part(request.origin.token, line, CommitDependency::NONE);
                }
                End::Error(line) => self.respond(&request, line, CommitDependency::NONE),
            }
        }
    }

    /// Clients whose writes were cut are told that nobody knows.
    pub(crate) fn tell_lost(&mut self) {
        if expire::tell_lost(&mut self.core, &mut self.clients) {
            self.let_out();
        }
    }

    /// Ends writes that have waited for their replicas for too long.
    pub(crate) fn give_up_writes(&mut self) {
        if expire::give_up_writes(&mut self.core, &mut self.clients) {
            self.let_out();
        }
    }

    /// A brick of this node does not serve what it was asked.
    pub(crate) fn on_returned(&mut self, request: Request) {
        assert_eq!(request.origin.member, self.core.member(), "not for here");
        let token = request.origin.token;
        let was_local_read = self.end_local_read(token);
        let is_part_of_read =
            request.work.only_reads() && matches!(request.work, Work::Subrequest(..));
        let connection = self.clients.get(token.connection);
        let is_last = connection
            .filter(|it| it.client == token.client)
            .is_some_and(|it| it.output.ends_with(token.placeholder));
        if was_local_read || is_part_of_read || is_last {
            let refused = await_view_again(&mut self.core, request);
            self.tell_refused(refused);
        } else {
            // What its connection sent after it may be done there: then it would come too late.
            self.on_misplaced(token);
        }
    }

    /// Another brick has adopted another map than this one: the views are changing.
    pub(crate) fn on_misplaced(&mut self, token: Token) {
        self.on_part(token, error_line(&CHANGING_HANDS), CommitDependency::NONE);
    }

    /// A read that was with a backup on this node is answered, or given back; whether it was one.
    pub(crate) fn end_local_read(&mut self, token: Token) -> bool {
        let was_local_read = self.core.requests.leave_local_read(token);
        if was_local_read {
            self.core.replicas.wake();
        }
        was_local_read
    }

    fn is_stalled(&self, request: &Request) -> bool {
        is_stalled(&self.core, &self.clients, request)
    }

    /// A request of a client of this brick is not answered on the spot: it gets room for a reply of `known` bytes, or of as many
    /// as others had. One that has room keeps it.
    fn reserve(&mut self, request: &mut Request, known: usize) {
        // What a part answers is bounded by what a transaction may read.
        let is_clients = !request.origin.token.is_of_part();
        if is_clients && request.room == UNBOUNDED && request.origin.member == self.core.member() {
            request.room = self.clients.reserve(request.origin.token, known);
        }
    }

    /// A request is not executed for want of room: it goes back to whoever asked, as does all that comes behind it.
    fn give_back(&mut self, request: Request, needed: usize) {
        let (member, me) = (request.origin.member, self.core.member());
        let client = request.client;
        let no_room = NoRoom { client, needed };
        if member == me {
            return self.on_not_executed((me, no_room, Some(request)));
        }
        assert!(
            needed > 0 || self.core.requests.stalls.has(member, client),
            "client {client} of {member} is not stalled, and there is room"
        );
        self.core.requests.stalls.begin(member, client);
        if member.node == me.node {
            let message = Forward::NoRoom(Box::new(request), needed);
            return self.core.outbox.push(member, message);
        }
        let kind = ReplyKind::NoRoom(no_room);
        let reply = ForwardReply::undone(request.origin.token, kind);
        self.core.outbox.reply(member, reply);
    }

    /// A request of a client of this brick was not executed for want of room.
    pub(crate) fn on_not_executed(&mut self, (from, no_room, request): NotExecuted) {
        let NoRoom { client, needed } = no_room;
        let token = request.as_ref().map(|request| request.origin.token);
        let Some(id) = self.clients.id_of(client, token) else {
            // It has gone, and will not be heard of again.
            return self.resume_at(from, client);
        };
        self.core.stats().clients.held_back.add(1);
        self.clients[id].returned.stall(from);
        let came_back = request.map(|request| CameBack::new(from, request, needed));
        // What has not left yet would overtake it.
        let unsent = Exchange::new(&mut self.core, &mut self.remotes).take_unsent(client);
        for it in came_back.into_iter().chain(unsent) {
            self.clients.put_back(id, it, self.core.now);
        }
        self.clients.look_at_room(id);
    }

    /// Asks again for what came back of clients that have room now.
    pub(crate) fn ask_again(&mut self) {
        for id in self.clients.take_roomy() {
            self.ask_again_of(id);
        }
    }

    fn ask_again_of(&mut self, id: ConnectionId) {
        let Some((client, taken, bricks)) = self.clients.take_returned(id, self.core.now) else {
            return;
        };
        for brick in bricks {
            self.resume_at(brick, client);
        }
        // The rest of what came back comes behind these, which go as if it were not there.
        let rest = self.clients[id].returned.set_apart();
        for CameBack { request, from, .. } in taken {
            if !self.clients.reserve_again(&request) {
                // Its part is asked for otherwise.
                continue;
            }
            match request.work {
                // A brick's share is that brick's.
                Work::Subrequest(..) if from != self.core.member() => self.forward(from, request),
                _ => self.begin(request),
            }
        }
        if let Some(connection) = self.clients.get_mut(id) {
            connection.returned.append(rest);
            self.clients.look_at_room(id);
            self.clients.resume(id);
        }
    }

    /// A brick goes on with what the client asks.
    pub(crate) fn resume_at(&mut self, at: Member, client: u64) {
        let me = self.core.member();
        if at == me {
            return;
        }
        if at.node == me.node {
            self.core.outbox.push(at, Forward::Resume(client));
        } else {
            Exchange::new(&mut self.core, &mut self.remotes).resume(at, client);
        }
    }

    /// Whether a reply decides what its connection does next: commands of a transaction that are about no keys
    /// run when the rest has committed, not when that may yet be refused.
    fn has_later(&self, token: Token) -> bool {
        if token.is_of_part() {
            return true;
        }
        let connection = self.clients.named(token);
        connection.is_some_and(|it| !it.session.multi.after_exec.is_empty())
    }
}

#[cfg(test)]
#[path = "dispatch_test.rs"]
mod dispatch_test;
