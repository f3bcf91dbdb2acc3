//! One client: what it sent, what it is to get, and who it is.

use crate::accepted::{Accepted, ConnectionId};
use crate::acl_log::Denied;
use crate::gather::{Gather, Holding};
use crate::input::Input;
use crate::output::{Lost, Output, PlaceholderId};
use crate::quota::Seat;
use crate::room::{ReplyLengths, Returned};
use crate::shared::Shared;
use crate::told::Told;
use crate::transaction::Multi;
use crate::users::Rights;
use brickyard_types::{Instant, UnixMillis};
use brickyard_wire::{Limits, Protocol};
use std::collections::VecDeque;

/// Whether the client wants replies (`CLIENT REPLY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    On,
    Off,
    /// Not for the command after this one.
    SkipNext,
    /// Not for this command.
    Skip,
}

/// Why the connection executes nothing at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// Until everything it asked for has been answered: the next command must not overtake.
    Drain,
    /// Until the control thread has answered this request.
    Control(u64),
    /// `CLIENT PAUSE`: its next command, which is in its input, waits for the pause's end.
    Pause,
    /// `WATCHKEYS`: until there is a change, or its time is over.
    Watch,
    /// `WAIT`: until then, or enough replicas have its writes.
    Wait {
        until: Option<Instant>,
        placeholder: PlaceholderId,
    },
}

/// What a user may do where its connection is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Granted {
    /// On the connection's table.
    pub(crate) rights: Rights,
    /// Every right there, every command, every key: there is nothing to check.
    pub(crate) is_free: bool,
}

/// What a command sees of its client.
#[derive(Debug)]
pub(crate) struct Session {
    /// Whom it acts for, and its seat among those that do; `None`: `AUTH` must come first.
    pub(crate) user: Option<Seat>,
    pub(crate) names: ClientNames,
    pub(crate) protocol: Protocol,
    /// Index of its table, and what its user may do there.
    pub(crate) table: usize,
    pub(crate) granted: Granted,
    /// What was refused to its user just now, for the log.
    pub(crate) denied: Option<Denied>,
    pub(crate) database: u16,
    pub(crate) reply_mode: ReplyMode,
    pub(crate) is_readonly: bool,
    pub(crate) told: Told,
    pub(crate) no_evict: bool,
    pub(crate) no_touch: bool,
    pub(crate) multi: Multi,
    pub(crate) last_command: &'static str,
    /// Commands executed.
    pub(crate) commands: u64,
}

impl Session {
    /// What its user may do in its table.
    pub(crate) fn grant(&mut self, rights: Rights) {
        let may_all = self.user.as_ref().is_some_and(|user| user.acl.may_all());
        self.granted = Granted {
            rights,
            is_free: may_all && rights == Rights::ALL,
        };
        assert!(
            self.user.is_some() || !self.granted.is_free,
            "a stranger may do everything"
        );
    }
}

/// How the connection comes to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// Nothing more is executed; closed when its replies are sent.
    pub(crate) is_closing: bool,
    /// The client sends no more: closed when all that it sent is executed.
    pub(crate) is_ended: bool,
    /// The other side is gone: what is left of the output is of no use.
    pub(crate) is_broken: bool,
}

/// In which lists of `Clients` the connection is: set there alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// With input to execute.
    pub(crate) is_queued: bool,
    /// With output to send.
    pub(crate) is_listed: bool,
    /// With replies that wait.
    pub(crate) is_waiting: bool,
    /// In none: the driver was told to stop reading.
    pub(crate) is_paused: bool,
    /// With requests that are asked again.
    pub(crate) is_roomy: bool,
}

/// Replies in parts, by the placeholders that are left for them, in the order of the requests.
#[derive(Debug, Default)]
pub(crate) struct Gathers {
    open: VecDeque<(PlaceholderId, Gather)>,
    /// Of all of them: of requests which other bricks or requests that wait hold, and of replies to come.
    holding: Holding,
}

/// What the client calls itself, and where it wants to be.
#[derive(Debug, Default)]
pub(crate) struct ClientNames {
    pub(crate) name: Vec<u8>,
    pub(crate) library: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    /// The table that it named when it logged in.
    pub(crate) table: Option<String>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    /// `CLIENT ID`: never used again.
    pub(crate) client: u64,
    pub(crate) accepted: Accepted,
    pub(crate) created: UnixMillis,
    pub(crate) last_active: Instant,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) gathers: Gathers,
    /// For what of it there was no room.
    pub(crate) returned: Returned,
    pub(crate) reply_lengths: ReplyLengths,
    pub(crate) session: Session,
    pub(crate) blocked: Option<Blocked>,
    pub(crate) end: End,
    pub(crate) marks: Marks,
    pub(crate) bytes_out: u64,
}

/// Replies of one client that other bricks may be making at a time.
pub(crate) const PLACEHOLDERS_MAX: usize = 4096;

/// Bytes of requests in other hands past which no further command of the client is executed.
pub(crate) const OUTSTANDING_SOFT: usize = 4 << 20;

/// Unexecuted input past which the driver is told to stop reading, in bytes; one request may be
/// longer. More than a few turns' worth is better kept by the socket.
pub(crate) const INPUT_SOFT: usize = 64 << 10;

impl Connection {
    pub(crate) fn new(
        id: ConnectionId,
        accepted: Accepted,
        shared: &Shared,
        table: usize,
        now: Instant,
        unix: UnixMillis,
    ) -> Self {
        let mut connection = Self {
            id,
            client: shared.take_client_id(),
            accepted,
            created: unix,
            last_active: now,
            input: Input::new(limits(shared, false)),
            output: Output::default(),
            gathers: Gathers::default(),
            returned: Returned::default(),
            reply_lengths: ReplyLengths::new(shared.settings.output_soft()),
            session: Session {
                user: None,
                names: ClientNames::default(),
                protocol: Protocol::Resp2,
                table,
                granted: Granted::default(),
                denied: None,
                database: 0,
                reply_mode: ReplyMode::On,
                is_readonly: false,
                told: Told::default(),
                no_evict: false,
                no_touch: false,
                multi: Multi::default(),
                last_command: "NULL",
                commands: 0,
            },
            blocked: None,
            end: End::default(),
            marks: Marks::default(),
            bytes_out: 0,
        };
        connection.set_user(None, shared);
        connection
    }

    /// Acts for `user` from now on.
    pub(crate) fn set_user(&mut self, user: Option<Seat>, shared: &Shared) {
        self.input.set_limits(limits(shared, user.is_some()));
        assert_eq!(
            self.input.is_strangers(),
            user.is_none(),
            "who is known has other bounds"
        );
        self.session.user = user;
    }

    /// Whether the next command may run.
    #[inline]
    pub(crate) fn may_execute(&self) -> bool {
        self.blocked.is_none()
            && !self.end.is_closing
            && !self.end.is_broken
            && self.replies_len() <= self.reply_lengths.output_soft()
            && self.output.placeholders() <= PLACEHOLDERS_MAX
            && self.gathers.holding().cost <= OUTSTANDING_SOFT
            && self.returned.is_empty()
    }

    /// Bytes of replies that it has not sent, or has room reserved for.
    #[inline]
    pub(crate) fn replies_len(&self) -> usize {
        self.output.len() + self.gathers.holding().room
    }
}

impl Gathers {
    /// A reply in parts takes the place of that placeholder.
    pub(crate) fn begin(&mut self, placeholder: PlaceholderId, gather: Gather) {
        let is_last = self.open.back().is_none_or(|(last, _)| *last < placeholder);
        assert!(is_last, "{placeholder:?} comes before one that is open");
        self.holding.add(gather.holding());
        self.open.push_back((placeholder, gather));
    }

    fn place(&self, placeholder: PlaceholderId) -> Option<usize> {
        // Nearly always the first: replies come back about in order.
        match self.open.front() {
            Some((first, _)) if *first == placeholder => Some(0),
            _ if self.open.back().is_some_and(|it| it.0 == placeholder) => {
                Some(self.open.len() - 1)
            }
            _ => self
                .open
                .binary_search_by_key(&placeholder, |(id, _)| *id)
                .ok(),
        }
    }

    /// Changes the one that has that placeholder, if it is open.
    pub(crate) fn change<T>(
        &mut self,
        placeholder: PlaceholderId,
        change: impl FnOnce(&mut Gather) -> T,
    ) -> Option<T> {
        let at = self.place(placeholder)?;
        let (_, gather) = &mut self.open[at];
        let before = gather.holding();
        let result = change(gather);
        let after = gather.holding();
        self.holding.take(before);
        self.holding.add(after);
        Some(result)
    }

    /// The reply is whole.
    pub(crate) fn end(&mut self, placeholder: PlaceholderId) {
        let at = self.place(placeholder);
        if let Some((_, gather)) = at.and_then(|at| self.open.remove(at)) {
            self.holding.take(gather.holding());
        }
        assert!(
            !self.open.is_empty() || self.holding == Holding::default(),
            "no reply waits, but {:?} are held",
            self.holding
        );
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// What all of them make the connection hold.
    #[inline]
    pub(crate) fn holding(&self) -> Holding {
        self.holding
    }

    /// Operations were lost: each part that waits for one of them becomes an error.
    pub(crate) fn refuse(&mut self, lost: Lost, error: &[u8]) {
        for (_, gather) in &mut self.open {
            gather.refuse(lost, error);
        }
    }
}

/// Least bound on an argument, in bytes: the longest key fits.
const ARGUMENT_BYTES_MIN: usize = 64 * 1024;

fn limits(shared: &Shared, authenticated: bool) -> Limits {
    Limits {
        // Keys and passwords are arguments too, however short values are to be.
        bulk_bytes_max: shared.limits.value_bytes_max.max(ARGUMENT_BYTES_MIN),
        unauthenticated: !authenticated,
        ..Limits::default()
    }
}
