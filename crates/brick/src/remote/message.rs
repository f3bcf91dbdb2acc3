//! What bricks of different nodes ask one another, as bytes.
//!
//! Invariant: what a peer sent is believed in nothing before it was decoded as a whole.
//!
//! Layout of a message, little-endian: `1, id u64, connection u32, table u32, protocol u8, work` for a request,
//! `2, id u64, misplaced u8, bytes` for a reply. Work: `0, command`, `1, count u32, steps, count u32, watches`
//! `2, share u64, command`, or `3, client u64, sequence u64, again u8, command`; a command is `count u32` arguments, the first its name; an argument `len u32, bytes`.

use crate::connection::ConnectionId;
use crate::forward::{Forward, ForwardReply, ForwardRequest, Token, Work};
use crate::output::HoleId;
use crate::requests::Request;
use crate::transaction::{Step, Transaction, Watch};
use crate::watch::Version;
use brickyard_command::{OwnedArgs, Spec, is_data_command, lookup, table::flag};
use brickyard_types::record::RequestId;
use brickyard_types::{Instant, TableId};
use brickyard_wire::Protocol;

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

pub(super) fn encode_request(out: &mut Vec<u8>, id: u64, request: &ForwardRequest) {
    out.push(1);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&request.token.connection.0.to_le_bytes());
    out.extend_from_slice(&request.table.0.to_le_bytes());
    out.push(u8::from(request.protocol == Protocol::Resp3));
    match &request.work {
        Work::Command(spec, args) => {
            out.push(0);
            put_command(out, spec, args);
        }
        Work::Request(request, spec, args) => {
            out.push(3);
            out.extend_from_slice(&request.id.client.to_le_bytes());
            out.extend_from_slice(&request.id.sequence.to_le_bytes());
            out.push(u8::from(request.is_again));
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
                let request = Request {
                    id,
                    is_again: self.u8()? != 0,
                    was_lost: false,
                };
                let (spec, args) = self.command()?;
                let is_write = is_data_command(spec.id) && spec.has(flag::WRITE);
                return is_write.then_some(Work::Request(request, spec, args));
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

fn token(id: u64, connection: u32) -> Token {
    Token {
        connection: ConnectionId(connection),
        client: id,
        hole: HoleId(0),
        part: 0,
    }
}

/// Whether a message of another node's brick can be read; for whoever tries that with any bytes (`crates/fuzz`).
#[doc(hidden)]
#[must_use]
pub fn reads_message(bytes: &[u8]) -> bool {
    decode(bytes).is_some()
}

pub(super) fn decode(bytes: &[u8]) -> Option<Forward> {
    let mut input = Input(bytes);
    match input.u8()? {
        1 => {
            let id = input.u64()?;
            let connection = input.u32()?;
            let table = TableId(input.u32()?);
            let protocol = if input.u8()? == 0 {
                Protocol::Resp2
            } else {
                Protocol::Resp3
            };
            let work = input.work()?;
            input.0.is_empty().then(|| {
                Forward::Request(ForwardRequest {
                    token: token(id, connection),
                    table,
                    protocol,
                    work,
                    // Not sent: how long it may take here is for this brick to say.
                    until: Instant(0),
                    lane: None,
                    moves: 0,
                })
            })
        }
        2 => {
            let id = input.u64()?;
            let is_misplaced = input.u8()? != 0;
            Some(Forward::Reply(ForwardReply {
                token: token(id, 0),
                bytes: input.0.to_vec(),
                is_misplaced,
            }))
        }
        _ => None,
    }
}
