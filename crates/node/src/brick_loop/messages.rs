//! What a loop hears from the log's workers, other bricks and the control thread, and what it asks of them.

use super::{BrickLoop, Phase};
use crate::disk::{AppendOrder, ReadOrder};
use crate::io::{Ask, Io, ToLoop};
use brickyard_brick::{ControlReply, ControlRequest, Effect, Event};

const BUSY: &str = "BUSY the node is busy with other such requests; try again";

impl BrickLoop {
    pub(super) fn take_messages(&mut self, io: &mut impl Io) {
        self.take_reports(io);
        while let Some((from, messages)) = io.poll_forward() {
            self.brick.handle(Event::Forward(from, messages));
        }
        while let Some(message) = io.poll_message() {
            match message {
                ToLoop::Brick(message) => self.brick.handle(message.into_event()),
                ToLoop::Peer(stream) => self.open_stream(io, stream),
                ToLoop::Open => io.open_ports(),
                ToLoop::Drain if self.phase == Phase::Serving => {
                    self.phase = Phase::Draining;
                    self.brick.begin_shutdown();
                    // Closed, so that clients are refused at once and try elsewhere.
                    io.close_ports();
                }
                ToLoop::Drain => {}
                ToLoop::Exit => self.phase = Phase::Ended,
            }
        }
    }

    fn take_reports(&mut self, io: &mut impl Io) {
        let brick = &mut self.brick;
        let mut has_moves = false;
        io.take_reports(|event| {
            has_moves |= matches!(event, Event::SegmentChunk(_));
            brick.handle(event);
        });
        if has_moves {
            // What the cleaner moves gets a batch of its own: a full disk takes that one, and would
            // refuse it together with clients' writes.
            self.carry_out(io);
        }
    }

    /// What the loop has written itself is answered in the same turn, and sent to other nodes.
    pub(super) fn hear_inline(&mut self, io: &mut impl Io) {
        if io.has_inline_reports() {
            self.brick.continue_turn();
            self.take_reports(io);
            self.carry_out(io);
        }
    }

    pub(super) fn carry_out(&mut self, io: &mut impl Io) {
        while let Some(effect) = self.brick.poll_effect() {
            match effect {
                Effect::Append(append) => io.append(AppendOrder::Batch(append)),
                Effect::Checkpoint(token) => io.append(AppendOrder::Checkpoint(token)),
                Effect::Read(read) => io.read(ReadOrder::Value(read)),
                Effect::ReadSegment {
                    segment,
                    from,
                    bytes_max,
                } => io.read(ReadOrder::Chunk {
                    segment,
                    from,
                    bytes_max,
                }),
                // Behind all that is to be read of it.
                Effect::DeleteSegment(segment) => io.read(ReadOrder::Delete(segment)),
                Effect::Forward(to, messages) => io.forward(to, messages),
                Effect::Control(token, request) => self.ask_control(io, token, request),
                // A full queue loses it: the brick says it again.
                Effect::Dial(peer) => {
                    io.ask(Ask::Dial(peer));
                }
                Effect::ClosePeer(link, reason) => self.close_stream(io, link, &reason),
                Effect::Report(what) => io.report(&what),
                Effect::Audit(record) => tracing::info!(
                    target: "audit",
                    user = record.user,
                    peer = record.peer,
                    command = record.command,
                    result = record.result,
                    "administration"
                ),
                Effect::Stop(reason) => self.stop_reason = Some(reason),
            }
        }
        io.flush();
    }

    fn ask_control(&mut self, io: &mut impl Io, token: u64, request: ControlRequest) {
        if !io.ask(Ask::Request(token, request)) {
            let reply = ControlReply::Failed(BUSY.to_owned());
            self.brick.handle(Event::Control(token, reply));
        }
    }
}
