//! The task of a connection: it dials, greets, and moves bytes until the connection breaks or is closed.
//!
//! In:  the channel's inbox, a socket, the clock. Out: replies and failures to calls.
//!
//! Invariant: whatever ends the task, each call that it had is told what became of it: written wholly and not
//! answered is *lost*, anything less was *not sent*.

use super::{Shared, socket::Socket};
use crate::{
    call::{Call, Calls},
    connection::{Answer, Connection, Expired, GreetingStep, Incoming, Request},
    peer::Kind,
    retry::{self, AttemptFailure},
    setting::Use,
};
use brickyard_wire::{Value, encode_request};
use std::{
    fmt::Display,
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::Interest,
    time::{sleep_until, timeout},
};

/// While a connection is being made, calls that came later are looked at so often.
const WATCH_STEP: Duration = Duration::from_millis(20);

/// Leases that were not given back by then have run out.
const RETURNED_WITHIN: Duration = Duration::from_secs(1);

/// What the connection carries.
enum Item {
    Greeting(GreetingStep, Vec<u8>, Instant),
    Call(Box<Call>),
    /// Leases are given back; what is answered is of no interest.
    Return(Vec<u8>, Instant),
}

impl Request for Item {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Greeting(_, bytes, _) | Self::Return(bytes, _) => bytes,
            Self::Call(call) => call.bytes(),
        }
    }

    fn deadline(&self) -> Instant {
        match self {
            Self::Greeting(_, _, deadline) | Self::Return(_, deadline) => *deadline,
            Self::Call(call) => call.deadline(),
        }
    }

    fn attempt_deadline(&self) -> Instant {
        match self {
            Self::Greeting(_, _, deadline) | Self::Return(_, deadline) => *deadline,
            Self::Call(call) => call.attempt_deadline(),
        }
    }
}

/// Says that the channel has this task; its end, however it comes, says that it has none.
pub(super) struct Running {
    shared: Arc<Shared>,
    generation: u64,
    /// The channel goes on without this task.
    is_retired: bool,
    /// The channel goes on without this task, unless the connection comes round before the next call.
    is_stuck: bool,
}

impl Running {
    pub(super) const fn new(shared: Arc<Shared>, generation: u64) -> Self {
        Self {
            shared,
            generation,
            is_retired: false,
            is_stuck: false,
        }
    }

    const fn takes_calls(&self) -> bool {
        !self.is_retired && !self.is_stuck
    }

    /// The connection is silent: the next call opens another, unless it speaks before. What waits is told that it was not
    /// sent because of `failure`.
    fn get_stuck(&mut self, failure: &AttemptFailure) {
        self.is_stuck = true;
        let mut inbox = self.shared.inbox();
        if self.is_retired || inbox.generation != self.generation {
            return;
        }
        inbox.is_stuck = true;
        let calls = std::mem::take(&mut inbox.calls);
        drop(inbox);
        for call in calls {
            call.on_failure(failure.clone());
        }
    }

    /// The connection has answered something.
    fn come_round(&mut self) {
        if !std::mem::replace(&mut self.is_stuck, false) {
            return;
        }
        let mut inbox = self.shared.inbox();
        if inbox.generation == self.generation {
            inbox.is_stuck = false;
        } else {
            self.is_retired = true;
        }
    }

    /// The channel goes on without this task, and opens another connection for the next call. What waits is told
    /// that it was not sent because of `failure`.
    fn retire(&mut self, failure: &AttemptFailure) {
        for call in self.let_go() {
            call.on_failure(failure.clone());
        }
    }

    fn let_go(&mut self) -> Calls {
        if std::mem::replace(&mut self.is_retired, true) {
            return Calls::new();
        }
        let mut inbox = self.shared.inbox();
        if inbox.generation != self.generation {
            return Calls::new();
        }
        inbox.is_running = false;
        inbox.is_stuck = false;
        std::mem::take(&mut inbox.calls)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Each is told by being dropped, outside of the lock.
        drop(self.let_go());
    }
}

/// Runs one connection from its first byte to its last.
pub(super) async fn run(mut running: Running) {
    let shared = Arc::clone(&running.shared);
    let opened = watched(&shared, open(&shared)).await;
    let (socket, connection) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            let mut inbox = shared.inbox();
            inbox.failures += 1;
            inbox.last_failure = failure.clone();
            let pause = retry::pause(inbox.failures, &shared.setting.random);
            shared.peer.set_down(Instant::now(), pause);
            drop(inbox);
            running.retire(&failure);
            return;
        }
    };
    shared.inbox().failures = 0;
    shared.peer.set_up();
    let mut drive = Drive {
        shared: &shared,
        running: &mut running,
        socket,
        connection,
        arrived: Calls::new(),
    };
    let why = match drive.until_broken().await {
        Ok(()) => "it was closed".to_owned(),
        Err(why) => format!("the connection to {}: {why}", shared.peer.address),
    };
    let lost = drive.connection.into_lost();
    // What was not sent goes first, to keep its order before what waits.
    for item in lost.unsent {
        item.fail(AttemptFailure::NotSent(why.clone()));
    }
    for item in lost.sent {
        item.fail(AttemptFailure::Lost(why.clone()));
    }
    running.retire(&AttemptFailure::NotSent(why));
}

impl Item {
    fn fail(self, failure: AttemptFailure) {
        if let Self::Call(call) = self {
            call.on_failure(failure);
        }
    }

    /// The connection is silent; nothing that it owes comes before this, if it `is_first`.
    fn fail_silent(self, is_first: bool) {
        if let Self::Call(mut call) = self {
            call.holds_up |= is_first;
            call.on_failure(AttemptFailure::Silent);
        }
    }
}

/// Waits for `work`, and meanwhile lets calls in the inbox go whose attempt or deadline passes.
async fn watched<T>(shared: &Shared, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        let step = Instant::now() + WATCH_STEP;
        let next = shared.next_to_go().map_or(step, |it| it.min(step));
        tokio::select! {
            done = &mut work => return done,
            () = sleep_until(next.into()) => shared.expire_inbox(Instant::now()),
        }
    }
}

/// Connects and greets.
async fn open(shared: &Shared) -> Result<(Socket, Connection<Item>), AttemptFailure> {
    let address = &shared.peer.address;
    let not_sent = |why: &dyn Display| AttemptFailure::NotSent(format!("{address}: {why}"));
    let begin = Instant::now();
    let limit = shared.setting.connect_timeout;
    let opened = timeout(limit, async {
        let mut socket = Socket::connect(address, shared.setting.tls.as_ref())
            .await
            .map_err(|it| not_sent(&it))?;
        let greeted_at = Instant::now();
        let mut connection = Connection::new(shared.setting.reply_limits, shared.silence_limit());
        greet(shared, &mut socket, &mut connection, begin + limit).await?;
        shared.peer.note_greeting(greeted_at.elapsed());
        connection.set_silence_limit(shared.silence_limit());
        Ok((socket, connection))
    });
    let late = || not_sent(&format_args!("it was not ready within {limit:?}"));
    opened.await.unwrap_or_else(|_| Err(late()))
}

async fn greet(
    shared: &Shared,
    socket: &mut Socket,
    connection: &mut Connection<Item>,
    deadline: Instant,
) -> Result<(), AttemptFailure> {
    let address = &shared.peer.address;
    let not_sent = |why: &dyn Display| AttemptFailure::NotSent(format!("{address}: {why}"));
    let greeting = &shared.setting.greeting;
    for (step, bytes) in greeting.first() {
        connection.submit(Item::Greeting(step, bytes, deadline));
    }
    let mut refusal = None;
    while !connection.is_idle() {
        let interest = match socket.write(connection).map_err(|it| not_sent(&it))? {
            true => Interest::READABLE,
            false => Interest::READABLE | Interest::WRITABLE,
        };
        let ready = socket.ready(interest).await;
        if !ready.map_err(|it| not_sent(&it))?.is_readable() {
            continue;
        }
        let end = socket.read(connection);
        while let Some(incoming) = connection.poll_reply().map_err(|it| not_sent(&it))? {
            let Incoming::Reply(Some(Item::Greeting(step, ..)), value) = incoming else {
                continue;
            };
            match step.answer(&value) {
                Answer::Hello { is_node_port } => {
                    match is_node_port {
                        Some(true) => shared.peer.set_kind(Kind::Node),
                        Some(false) => shared.peer.set_kind(Kind::Brick),
                        None => {}
                    }
                    if let Some((step, bytes)) = greeting.second(is_node_port) {
                        connection.submit(Item::Greeting(step, bytes, deadline));
                    }
                }
                Answer::Ids(micros) => {
                    shared.peer.set_ids(micros.is_some());
                    if let Some(micros) = micros {
                        shared.setting.ids.learn(micros);
                    }
                }
                Answer::Accepted => {}
                // The first refusal is the cause of the others.
                Answer::Refused(line) => {
                    refusal = refusal.or(Some(AttemptFailure::Handshake(line)))
                }
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        end.map_err(|it| not_sent(&it))?;
    }
    Ok(())
}

/// An open connection.
struct Drive<'a> {
    shared: &'a Shared,
    running: &'a mut Running,
    socket: Socket,
    connection: Connection<Item>,
    /// Calls on their way from the inbox to the connection.
    arrived: Calls,
}

impl Drive<'_> {
    /// Moves bytes until the connection is closed on purpose, or breaks.
    async fn until_broken(&mut self) -> Result<(), String> {
        let far = Instant::now() + Duration::from_secs(365 * 24 * 3600);
        let mut alarm_at = far;
        let mut alarm = pin!(sleep_until(far.into()));
        loop {
            // A socket that is always readable must not keep the other tasks from running.
            tokio::task::consume_budget().await;
            self.take_calls();
            let is_written = self.socket.write(&mut self.connection);
            let is_written = is_written.map_err(|error| error.to_string())?;
            if self.is_over() {
                return Ok(());
            }
            let next = self.connection.next_time().unwrap_or(far);
            if next != alarm_at {
                alarm_at = next;
                alarm.as_mut().reset(next.into());
            }
            let interest = if is_written {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            // Reading comes before what has just been called: a connection that was closed meanwhile then
            // takes nothing with it.
            tokio::select! {
                biased;
                () = &mut alarm => {
                    // Rings again only if it is set again.
                    alarm_at = far;
                    alarm.as_mut().reset(far.into());
                    self.give_up_late()?;
                }
                ready = self.socket.ready(interest) => {
                    if ready.map_err(|error| error.to_string())?.is_readable() {
                        self.receive()?;
                    }
                }
                // Once it is retired, calls are another task's.
                () = self.shared.wake.notified(), if self.running.takes_calls() => {}
            }
        }
    }

    fn take_calls(&mut self) {
        if !self.running.takes_calls() {
            return;
        }
        self.shared.take_inbox(&mut self.arrived);
        let is_brick = self.shared.peer.kind() == Kind::Brick;
        let has_ids = self.shared.peer.has_ids();
        for mut call in self.arrived.drain(..) {
            if is_brick && call.needs_node_port() {
                let why = format!("{} is a brick's port", self.shared.peer.address);
                call.on_failure(AttemptFailure::NotSent(why));
            } else if !call.prepare(has_ids) {
                let why = format!("{} knows no ids of requests", self.shared.peer.address);
                call.on_failure(AttemptFailure::NotSent(why));
            } else {
                self.connection.submit(Item::Call(call));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.connection.is_idle() && {
            if self.running.is_retired {
                return true;
            }
            let inbox = self.shared.inbox();
            inbox.is_closed && inbox.calls.is_empty()
        }
    }

    fn receive(&mut self) -> Result<(), String> {
        let end = self.socket.read(&mut self.connection);
        if end.is_ok() {
            self.shared.peer.set_up();
        }
        // The last number stands for all before it.
        let mut recalled = None;
        loop {
            match self.connection.poll_reply() {
                Ok(None) => break,
                Ok(Some(Incoming::Reply(request, value))) => {
                    self.running.come_round();
                    // Nothing, if the call was given up.
                    if let Some(Item::Call(call)) = request {
                        call.on_reply(value);
                    }
                }
                Ok(Some(Incoming::Push(message))) => {
                    recalled = self.on_push(&message).or(recalled);
                }
                Err(garbage) => return Err(garbage.to_string()),
            }
        }
        if let Some(number) = recalled {
            self.give_back(number);
        }
        end.map_err(|error| error.to_string())
    }

    /// The map has changed, or a lease is recalled, whose number is returned, or something that nobody subscribed to.
    fn on_push(&self, message: &Value) -> Option<i64> {
        let Value::Push(words) = message else {
            return None;
        };
        let text = |at: usize| words.get(at).and_then(Value::bytes);
        match text(0)? {
            b"cluster-map" => {
                let owner = self.shared.setting.owner.upgrade()?;
                owner.on_map_changed(&self.shared.peer.address);
                None
            }
            b"recall" => {
                // The connection is for one table.
                let (kept, key) = (self.shared.setting.kept.as_ref()?, text(2)?);
                kept.recall(key);
                words.get(3)?.integer()
            }
            _ => None,
        }
    }

    /// Nothing of what was recalled is kept any more: writes of others wait to hear that.
    fn give_back(&mut self, number: i64) {
        let mut bytes = Vec::new();
        encode_request(&mut bytes, &["LEASE", "RETURN", &number.to_string()]);
        let deadline = Instant::now() + RETURNED_WITHIN;
        self.connection.submit(Item::Return(bytes, deadline));
    }

    fn give_up_late(&mut self) -> Result<(), String> {
        let (mut is_dead, mut is_silent_now) = (false, false);
        for expired in self.connection.take_expired(Instant::now()) {
            match expired {
                Expired::Waiting(item) => item.fail(AttemptFailure::LateUnsent),
                Expired::Mute => is_silent_now = true,
                Expired::Silent { request, is_first } => {
                    is_silent_now = true;
                    request.fail_silent(is_first);
                }
                Expired::Late { request, is_silent } => {
                    is_dead |= is_silent;
                    request.fail(AttemptFailure::Late);
                }
            }
        }
        if is_silent_now {
            // It may come round, so what it owes is waited for; but nothing more is entrusted to it.
            let why = AttemptFailure::NotSent(format!("{} is silent", self.shared.peer.address));
            for item in self.connection.take_waiting() {
                item.fail(why.clone());
            }
            if self.shared.purpose == Use::Reads {
                self.running.get_stuck(&why);
            } else {
                self.running.retire(&why);
            }
        }
        if is_dead {
            return Err("it has been silent for a whole deadline".to_owned());
        }
        Ok(())
    }
}
