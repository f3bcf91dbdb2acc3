//! What happens to connections: bytes go on their way, ends close, ways are mended.
//!
//! In:  what an end does. Out: entries of the agenda, each for the other end.

use crate::clock::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use crate::ground::Ground;
use crate::network::{ConnectionId, End, Network, Place};
use crate::what::What;

impl Network {
    /// How long something takes from there to there.
    pub(crate) fn delay(
        &self,
        ground: &mut Ground,
        from: Place,
        to: Place,
        is_control: bool,
    ) -> Nanos {
        let typical = ground.shape.latency * self.times(from, to, is_control);
        let mut delay = ground.chance.delay(typical);
        // A packet is lost now and then, and sent again.
        if !ground.stage.is_calm && ground.chance.one_in(400) {
            delay += 200 * MILLISECOND;
        }
        delay
    }

    /// How long until somebody there hears of a connection; `None`: nobody does.
    pub(crate) fn reach(
        &self,
        ground: &mut Ground,
        from: usize,
        to: usize,
        is_control: bool,
    ) -> Option<Nanos> {
        let (near, far) = (Place::Node(from), Place::Node(to));
        let is_cut = |from, to| self.is_cut(from, to, is_control);
        let is_cut = is_cut(near, far) || is_cut(far, near);
        let delay = self.delay(ground, near, far, is_control);
        (!is_cut).then_some(delay)
    }

    /// Sends a message of the control plane.
    pub(crate) fn send_message(
        &mut self,
        ground: &mut Ground,
        node: usize,
        id: ConnectionId,
        bytes: Vec<u8>,
    ) {
        let Some(connection) = self.get(id) else {
            return;
        };
        let end = usize::from(connection.ends[0].place != Place::Node(node));
        self.send_bytes(ground, id, end, bytes);
    }

    /// Puts bytes on their way.
    pub(crate) fn send_bytes(
        &mut self,
        ground: &mut Ground,
        id: ConnectionId,
        end: usize,
        bytes: Vec<u8>,
    ) {
        let Some(connection) = self.get(id) else {
            return;
        };
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        let is_control = connection.what.is_control();
        let at = ground.now() + self.delay(ground, from, to, is_control);
        ground.notes.digest_bytes(&bytes);
        if let Some(due) = self.send(id, end, at, bytes) {
            ground.at(due.max(ground.now()), What::Deliver(id, end));
        }
    }

    /// Looks again at what was held up.
    pub(crate) fn deliver_again(&mut self, ground: &mut Ground, id: ConnectionId, end: usize) {
        let now = ground.now();
        if let Some(connection) = self.get_mut(id) {
            let flow = &mut connection.flows[end];
            let has_more = !flow.queue.is_empty() || flow.is_ending;
            if has_more && !std::mem::replace(&mut flow.is_due, true) {
                ground.at(now, What::Deliver(id, end));
            }
        }
    }

    /// That end closes the connection; the other one hears of it behind what was sent.
    pub(crate) fn close_end(&mut self, ground: &mut Ground, id: ConnectionId, end: usize) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        if !std::mem::replace(&mut connection.is_open[end], false) {
            return;
        }
        connection.flows[end].is_ending = true;
        let other = &mut connection.flows[1 - end];
        other.queue.clear();
        other.arrived.clear();
        other.bytes = 0;
        let (from, to) = (connection.ends[end].place, connection.ends[1 - end].place);
        let is_control = connection.what.is_control();
        let delay = self.delay(ground, from, to, is_control) + MICROSECOND;
        ground.after(delay, What::Deliver(id, end));
    }

    /// The process at an end is gone.
    pub(crate) fn lose_end(
        &mut self,
        ground: &mut Ground,
        id: ConnectionId,
        gone: End,
        is_silent: bool,
    ) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        let Some(end) = connection.ends.iter().position(|end| *end == gone) else {
            return;
        };
        if !is_silent {
            return self.close_end(ground, id, end);
        }
        connection.is_open[end] = false;
        for flow in &mut connection.flows {
            flow.lose();
        }
        // Nobody says anything: it is noticed in the end.
        let noticed = SECOND + ground.chance.below(6 * SECOND);
        ground.after(noticed, What::Close(id, 1 - end));
    }

    /// Nothing is cut or slow between two nodes any more; what was held up goes on, or the connection breaks.
    pub(crate) fn heal(&mut self, ground: &mut Ground, from: usize, to: usize) {
        self.mend(from, to);
        for id in self.at(Place::Node(from)) {
            let Some(connection) = self.get(id) else {
                continue;
            };
            for end in 0..2 {
                let is_it = connection.ends[end].place == Place::Node(from)
                    && connection.ends[1 - end].place == Place::Node(to);
                if is_it {
                    self.deliver_again(ground, id, end);
                    break;
                }
            }
        }
    }

    /// The control plane is there for a node again.
    pub(crate) fn heal_control(&mut self, ground: &mut Ground, node: usize) {
        self.mend_control(node);
        for id in self.at(Place::Node(node)) {
            self.deliver_again(ground, id, 0);
            self.deliver_again(ground, id, 1);
        }
    }

    /// A connection breaks: both ends hear of it, each in its time, and what was on its way is lost.
    pub(crate) fn break_connection(&mut self, ground: &mut Ground, id: ConnectionId) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        connection.is_broken = true;
        for flow in &mut connection.flows {
            flow.lose();
        }
        for end in 0..2 {
            let delay = ground.chance.delay(MILLISECOND);
            ground.after(delay, What::Close(id, end));
        }
    }
}
