//! Runs one data command against one partition.
//!
//! In:  a command whose arity was checked ([`crate::resolve`]), its arguments, the partition's state.
//! Out: the reply, and puts and deletes in the state; or a [`Failure`] and neither.
//!
//! Not here: commands that are about more than the given keys (SCAN, FLUSHDB, ...) or about the
//! connection or server; the brick carries them out, after this crate parsed them.

use crate::args::Args;
use crate::error::Failure;
use crate::expiry::{Base, Unit};
use crate::keyspace::Keyspace;
use crate::table::CommandId;
use crate::{
    append, bit, bitfield, bitop, del, dump, exists, expire, get, hash, incr, incr_float, lcs,
    mset, object, rename, set,
};
use brickyard_wire::Reply;

/// Whether [`execute`] knows the command.
#[must_use]
pub const fn is_data_command(id: CommandId) -> bool {
    use CommandId as Id;
    matches!(
        id,
        Id::Append
            | Id::Bitcount
            | Id::Bitfield
            | Id::BitfieldRo
            | Id::Bitop
            | Id::Bitpos
            | Id::Copy
            | Id::Decr
            | Id::Decrby
            | Id::Del
            | Id::Delifeq
            | Id::Dump
            | Id::Exists
            | Id::Expire
            | Id::Expireat
            | Id::Expiretime
            | Id::Get
            | Id::Getbit
            | Id::Getdel
            | Id::Getex
            | Id::Getrange
            | Id::Getset
            | Id::Hdel
            | Id::Hexists
            | Id::Hexpire
            | Id::Hexpireat
            | Id::Hexpiretime
            | Id::Hget
            | Id::Hgetall
            | Id::Hgetdel
            | Id::Hgetex
            | Id::Hincrby
            | Id::Hincrbyfloat
            | Id::Hkeys
            | Id::Hlen
            | Id::Hmget
            | Id::Hmset
            | Id::Hpersist
            | Id::Hpexpire
            | Id::Hpexpireat
            | Id::Hpexpiretime
            | Id::Hpttl
            | Id::Hrandfield
            | Id::Hscan
            | Id::Hset
            | Id::Hsetex
            | Id::Hsetnx
            | Id::Hstrlen
            | Id::Httl
            | Id::Hvals
            | Id::Incr
            | Id::Incrby
            | Id::Incrbyfloat
            | Id::Lcs
            | Id::LeaseGet
            | Id::MemoryUsage
            | Id::Mget
            | Id::Move
            | Id::Mset
            | Id::Msetnx
            | Id::ObjectEncoding
            | Id::ObjectFreq
            | Id::ObjectIdletime
            | Id::ObjectRefcount
            | Id::Persist
            | Id::Pexpire
            | Id::Pexpireat
            | Id::Pexpiretime
            | Id::Psetex
            | Id::Pttl
            | Id::Rename
            | Id::Renamenx
            | Id::Set
            | Id::Restore
            | Id::Setbit
            | Id::Setex
            | Id::Setnx
            | Id::Setrange
            | Id::Strlen
            | Id::Substr
            | Id::Touch
            | Id::Ttl
            | Id::Type
            | Id::Unlink
    )
}

/// Carries out a data command.
///
/// # Errors
/// The [`Failure`]; the reply is then as it was before the call, and what was put or deleted must
/// be dropped.
///
/// # Panics
/// If the request has fewer arguments than the command's arity says, or if the command is none of
/// [`is_data_command`] (caller bugs).
#[inline(always)]
pub fn execute<K: Keyspace>(
    id: CommandId,
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let start = reply.position();
    let outcome = match id {
        CommandId::Get => get::get(args, keyspace, reply),
        CommandId::Set => set::set(args, keyspace, reply),
        _ => dispatch(id, args, keyspace, reply),
    };
    if outcome.is_err() {
        reply.truncate(start);
    }
    outcome
}

#[inline(never)]
fn dispatch<K: Keyspace>(
    id: CommandId,
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    use CommandId as Id;
    let (seconds, milliseconds) = (Unit::Seconds, Unit::Milliseconds);
    match id {
        Id::Append => append::append(args, keyspace, reply),
        Id::Bitcount => bit::bitcount(args, keyspace, reply),
        Id::Bitfield => bitfield::bitfield(args, keyspace, reply),
        Id::BitfieldRo => bitfield::bitfield_ro(args, keyspace, reply),
        Id::Bitop => bitop::bitop(args, keyspace, reply),
        Id::Bitpos => bit::bitpos(args, keyspace, reply),
        Id::Copy => rename::copy(args, keyspace, reply),
        Id::Decr => incr::decr(args, keyspace, reply),
        Id::Decrby => incr::decrby(args, keyspace, reply),
        Id::Del | Id::Unlink => del::del(args, keyspace, reply),
        Id::Delifeq => del::delifeq(args, keyspace, reply),
        Id::Dump => dump::dump(args, keyspace, reply),
        Id::Exists | Id::Touch => exists::exists(args, keyspace, reply),
        Id::Expire => expire::expire(args, "expire", seconds, Base::Now, keyspace, reply),
        Id::Expireat => expire::expire(args, "expireat", seconds, Base::Epoch, keyspace, reply),
        Id::Expiretime => expire::ttl(args, seconds, Base::Epoch, keyspace, reply),
        Id::Get => get::get(args, keyspace, reply),
        Id::Getbit => bit::getbit(args, keyspace, reply),
        Id::Getdel => get::getdel(args, keyspace, reply),
        Id::Getex => get::getex(args, keyspace, reply),
        Id::Getrange | Id::Substr => get::getrange(args, keyspace, reply),
        Id::Getset => set::getset(args, keyspace, reply),
        Id::Hdel => hash::hdel(args, keyspace, reply),
        Id::Hexists => hash::hexists(args, keyspace, reply),
        Id::Hexpire => hash::hexpire(args, "hexpire", seconds, Base::Now, keyspace, reply),
        Id::Hexpireat => hash::hexpire(args, "hexpireat", seconds, Base::Epoch, keyspace, reply),
        Id::Hexpiretime => hash::httl(args, seconds, Base::Epoch, keyspace, reply),
        Id::Hget => hash::hget(args, keyspace, reply),
        Id::Hgetall => hash::hgetall(args, keyspace, reply),
        Id::Hgetdel => hash::hgetdel(args, keyspace, reply),
        Id::Hgetex => hash::hgetex(args, keyspace, reply),
        Id::Hincrby => hash::hincrby(args, keyspace, reply),
        Id::Hincrbyfloat => hash::hincrbyfloat(args, keyspace, reply),
        Id::Hkeys => hash::hkeys(args, keyspace, reply),
        Id::Hlen => hash::hlen(args, keyspace, reply),
        Id::Hmget => hash::hmget(args, keyspace, reply),
        Id::Hmset => hash::hmset(args, keyspace, reply),
        Id::Hpersist => hash::hpersist(args, keyspace, reply),
        Id::Hpexpire => hash::hexpire(args, "hpexpire", milliseconds, Base::Now, keyspace, reply),
        Id::Hpexpireat => hash::hexpire(
            args,
            "hpexpireat",
            milliseconds,
            Base::Epoch,
            keyspace,
            reply,
        ),
        Id::Hpexpiretime => hash::httl(args, milliseconds, Base::Epoch, keyspace, reply),
        Id::Hpttl => hash::httl(args, milliseconds, Base::Now, keyspace, reply),
        Id::Hrandfield => hash::hrandfield(args, keyspace, reply),
        Id::Hscan => hash::hscan(args, keyspace, reply),
        Id::Hset => hash::hset(args, keyspace, reply),
        Id::Hsetex => hash::hsetex(args, keyspace, reply),
        Id::Hsetnx => hash::hsetnx(args, keyspace, reply),
        Id::Hstrlen => hash::hstrlen(args, keyspace, reply),
        Id::Httl => hash::httl(args, seconds, Base::Now, keyspace, reply),
        Id::Hvals => hash::hvals(args, keyspace, reply),
        Id::Incr => incr::incr(args, keyspace, reply),
        Id::Incrby => incr::incrby(args, keyspace, reply),
        Id::Incrbyfloat => incr_float::incrbyfloat(args, keyspace, reply),
        Id::Lcs => lcs::lcs(args, keyspace, reply),
        Id::LeaseGet => get::lease_get(args, keyspace, reply),
        Id::MemoryUsage => object::memory_usage(args, keyspace, reply),
        Id::Mget => get::mget(args, keyspace, reply),
        Id::Move => rename::move_key(args, keyspace, reply),
        Id::Mset => mset::mset(args, keyspace, reply),
        Id::Msetnx => mset::msetnx(args, keyspace, reply),
        Id::ObjectEncoding => object::object_encoding(args, keyspace, reply),
        Id::ObjectFreq => object::object_freq(args, keyspace, reply),
        Id::ObjectIdletime => object::object_idletime(args, keyspace, reply),
        Id::ObjectRefcount => object::object_refcount(args, keyspace, reply),
        Id::Persist => expire::persist(args, keyspace, reply),
        Id::Pexpire => expire::expire(args, "pexpire", milliseconds, Base::Now, keyspace, reply),
        Id::Pexpireat => expire::expire(
            args,
            "pexpireat",
            milliseconds,
            Base::Epoch,
            keyspace,
            reply,
        ),
        Id::Pexpiretime => expire::ttl(args, milliseconds, Base::Epoch, keyspace, reply),
        Id::Psetex => set::psetex(args, keyspace, reply),
        Id::Pttl => expire::ttl(args, milliseconds, Base::Now, keyspace, reply),
        Id::Rename => rename::rename(args, keyspace, reply),
        Id::Renamenx => rename::renamenx(args, keyspace, reply),
        Id::Restore => dump::restore_key(args, keyspace, reply),
        Id::Set => set::set(args, keyspace, reply),
        Id::Setbit => bit::setbit(args, keyspace, reply),
        Id::Setex => set::setex(args, keyspace, reply),
        Id::Setnx => set::setnx(args, keyspace, reply),
        Id::Setrange => append::setrange(args, keyspace, reply),
        Id::Strlen => get::strlen(args, keyspace, reply),
        Id::Ttl => expire::ttl(args, seconds, Base::Now, keyspace, reply),
        Id::Type => exists::type_of(args, keyspace, reply),
        _ => panic!("{id:?} is no data command: is_data_command() says which are"),
    }
}

#[cfg(test)]
#[path = "execute_test.rs"]
mod execute_test;
