//! What bricks of different nodes ask one another, as bytes.
//!
//! Invariant: what a peer sent is believed in nothing before it was decoded as a whole.
//!
//! Layout of a message, little-endian: `1, id u64, connection u32, table u32, protocol u8, work` for a request,
//! `2, id u64, misplaced u8, bytes` for a reply. Work: `0, command`, `1, count u32, steps, count u32, watches`
//! `2, share u64, command`, or `3, client u64, sequence u64, again u8, command`; a command is `count u32` arguments, the first its name; an argument `len u32, bytes`.

use crate::connection::ConnectionId;
use crate::executed::Attempt;
use crate::forward::ForwardReply;
use crate::output::HoleId;
use crate::request::{Origin, Request, Token, Work};
use crate::transaction::{Step, Transaction, Watch};
use crate::watch::Version;
use brickyard_command::{OwnedArgs, Spec, is_data_command, lookup, table::flag};
use brickyard_routing::{Member, NodeId};
use brickyard_types::record::RequestId;
use brickyard_types::{BrickId, Instant, TableId};
use brickyard_wire::Protocol;

/// What another node's brick has sent.
#[derive(Debug)]
pub(super) enum Message {
    /// It asks.
    Request(Box<Request>),
    /// It answers the request of that number.
    Reply(u64, Reply),
}

/// An answer as it was sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    pub(super) is_misplaced: bool,
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_command(out: &mut Vec<u8>, spec: &Spec, args: &OwnedArgs) {
    let args = args.as_args();
    out.extend_from_slice(&(args.len() as u32).to_le_bytes());
    // The name as this version knows it, whatever the client wrote.
    put_bytes(out, spec.name.as_bytes());
    for at in 1..args.len() {
        put_bytes(out, args.at(at));
    }
}

pub(super) fn encode_request(out: &mut Vec<u8>, number: u64, request: &Request) {
    out.push(1);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&request.origin.token.connection.0.to_le_bytes());
    out.extend_from_slice(&request.table.0.to_le_bytes());
    out.push(u8::from(request.protocol == Protocol::Resp3));
    match &request.work {
        Work::Command(spec, args) => {
            out.push(0);
            put_command(out, spec, args);
        }
        Work::Attempt(attempt, spec, args) => {
            out.push(3);
            out.extend_from_slice(&attempt.id.client.to_le_bytes());
            out.extend_from_slice(&attempt.id.sequence.to_le_bytes());
            out.push(u8::from(attempt.is_again));
            put_command(out, spec, args);
        }
        Work::Share(spec, args, share) => {
            out.push(2);
            out.extend_from_slice(&share.to_le_bytes());
            put_command(out, spec, args);
        }
        Work::Transaction(transaction) => {
            out.push(1);
            out.extend_from_slice(&(transaction.steps.len() as u32).to_le_bytes());
            for step in &transaction.steps {
                match step {
                    Step::Command(spec, args) => {
                        out.push(0);
                        put_command(out, spec, args);
                    }
                    Step::Later => out.push(1),
                }
            }
            out.extend_from_slice(&(transaction.watches.len() as u32).to_le_bytes());
            for watch in &transaction.watches {
                out.extend_from_slice(&watch.table.0.to_le_bytes());
                for number in watch.version.encode() {
                    out.extend_from_slice(&number.to_le_bytes());
                }
                put_bytes(out, &watch.key);
            }
        }
    }
}

pub(super) fn encode_reply(out: &mut Vec<u8>, reply: &ForwardReply) {
    out.push(2);
    out.extend_from_slice(&reply.token.client.to_le_bytes());
    out.push(u8::from(reply.is_misplaced));
    out.extend_from_slice(&reply.bytes);
}

/// What is left to read of a message.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn command(&mut self) -> Option<(&'static Spec, OwnedArgs)> {
        let count = self.u32()? as usize;
        // An argument takes four bytes at least: a count cannot ask for more memory than was sent.
        if count == 0 || count > self.0.len() / 4 {
            return None;
        }
        let name = self.string()?;
        let spec = lookup(name)?;
        let mut args = OwnedArgs::with_capacity(self.0.len().min(1 << 16), count);
        args.push(name);
        for _ in 1..count {
            args.push(self.string()?);
        }
        (spec.subcommands.is_empty() && spec.accepts(count)).then_some((spec, args))
    }

    fn work(&mut self) -> Option<Work> {
        match self.u8()? {
            0 => {
                let (spec, args) = self.command()?;
                return Some(Work::Command(spec, args));
            }
            3 => {
                let id = RequestId {
                    client: self.u64()?,
                    sequence: self.u64()?,
                };
                let attempt = Attempt {
                    id,
                    is_again: self.u8()? != 0,
                    was_lost: false,
                };
                let (spec, args) = self.command()?;
                let is_write = is_data_command(spec.id) && spec.has(flag::WRITE);
                return is_write.then_some(Work::Attempt(attempt, spec, args));
            }
            2 => {
                let share = self.u64()?;
                let (spec, args) = self.command()?;
                return Some(Work::Share(spec, args, share));
            }
            _ => {}
        }
        let mut transaction = Transaction::default();
        for _ in 0..self.u32()? {
            transaction.steps.push(if self.u8()? == 0 {
                let (spec, args) = self.command()?;
                Step::Command(spec, args)
            } else {
                Step::Later
            });
        }
        for _ in 0..self.u32()? {
            let table = TableId(self.u32()?);
            let version = [self.u64()?, self.u64()?, self.u64()?, self.u64()?];
            transaction.watches.push(Watch {
                table,
                version: Version::decode(version),
                key: self.string()?.to_vec(),
            });
        }
        Some(Work::Transaction(Box::new(transaction)))
    }
}

/// Whether a message of another node's brick can be read; for whoever tries that with any bytes (`crates/fuzz`).
#[doc(hidden)]
#[must_use]
pub fn reads_message(bytes: &[u8]) -> bool {
    let from = Member {
        node: NodeId(0),
        brick: BrickId(0),
    };
    decode(from, bytes).is_some()
}

/// Reads what the brick `from` has sent.
pub(super) fn decode(from: Member, bytes: &[u8]) -> Option<Message> {
    let mut input = Input(bytes);
    match input.u8()? {
        1 => {
            let token = Token {
                client: input.u64()?,
                connection: ConnectionId(input.u32()?),
                hole: HoleId(0),
                part: 0,
            };
            let table = TableId(input.u32()?);
            let protocol = if input.u8()? == 0 {
                Protocol::Resp2
            } else {
                Protocol::Resp3
            };
            let work = input.work()?;
            let origin = Origin {
                member: from,
                token,
            };
            // Its time is not sent: how long it may take here is for this brick to say.
            let request = Request::new(origin, table, protocol, work, Instant(0));
            input
                .0
                .is_empty()
                .then(|| Message::Request(Box::new(request)))
        }
        2 => {
            let number = input.u64()?;
            let is_misplaced = input.u8()? != 0;
            let reply = Reply {
                bytes: input.0.to_vec(),
                is_misplaced,
            };
            Some(Message::Reply(number, reply))
        }
        _ => None,
    }
}
