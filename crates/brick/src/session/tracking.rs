//! CLIENT TRACKING and its like: a client asks to be told of keys that it keeps copies of.

use super::next::{Next, Outcome};
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::connection::{Blocked, Session};
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::told::{Beginnings, Tracking};
use brickyard_command::ErrorReply;
use brickyard_command::request::TrackingRequest;
use brickyard_metadata::Level;
use brickyard_wire::Reply;
use std::collections::BTreeSet;

/// Prefixes that one client may listen to, and their bytes together.
const PREFIXES_MAX: usize = 1024;
const PREFIX_BYTES_MAX: usize = 64 << 10;

const EARLIER_NODE: ErrorReply = ErrorReply::constant(
    "ERR nothing is tracked: a node of this cluster runs an earlier version of the program, which tells of no keys; upgrade all nodes first",
);

/// CLIENT TRACKING.
pub(super) fn tracking(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    request: &TrackingRequest<'_>,
) -> Outcome {
    let redirect = request.redirect.filter(|number| *number != 0);
    if let Some(number) = redirect
        && core.shared.directory.find(number.cast_unsigned()).is_none()
    {
        return Err(ErrorReply::constant(
            "ERR The client ID you want redirect to does not exist",
        ));
    }
    if !request.is_on {
        // Other bricks go on telling of what nobody here wants to hear until they hear what others do.
        clients.untrack(id);
        clients.reply(id, |reply| reply.ok());
        return Ok(Next::Done);
    }
    if !core.shared.lowest_level.has(Level::TRACKING) {
        return Err(EARLIER_NODE);
    }
    request.check()?;
    let before = clients[id].session.told.tracking.as_deref();
    if let Some(before) = before {
        check_change(before, request)?;
    }
    let listens_to = match request.broadcasts {
        true => Some(prefixes(clients, id, request)?),
        false => None,
    };
    let tracking = Tracking {
        redirect: redirect.map(i64::cast_unsigned),
        is_broken: false,
        listens_to,
        opts_in: request.opts_in,
        opts_out: request.opts_out,
        skips_own: request.skips_own,
        caching: None,
    };
    let is_known = !clients.trackers.is_empty();
    // What it has read is known by its number, and stays known.
    clients.track(core, id, tracking);
    if is_known && !request.broadcasts {
        clients.reply(id, |reply| reply.ok());
        return Ok(Next::Done);
    }
    let protocol = clients[id].session.protocol;
    let token = clients.open_gather(id, Gather::new(Join::Only, protocol, 1));
    clients[id].blocked = Some(Blocked::Drain);
    clients.tell_listeners(core, Some(token));
    // When all bricks know of it, this turn at the earliest.
    Ok(Next::Done)
}

/// Some of it cannot be changed on the way.
fn check_change(before: &Tracking, request: &TrackingRequest<'_>) -> Result<(), ErrorReply> {
    if before.listens_to.is_some() != request.broadcasts {
        return Err(ErrorReply::constant(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
        ));
    }
    if before.opts_in && request.opts_out || before.opts_out && request.opts_in {
        return Err(ErrorReply::constant(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
        ));
    }
    Ok(())
}

/// All prefixes that the client listens to from now on.
fn prefixes(
    clients: &Clients,
    id: ConnectionId,
    request: &TrackingRequest<'_>,
) -> Result<Beginnings, ErrorReply> {
    let session = &clients[id].session;
    // It would hear of names that it may not read.
    let may_all = session.granted.is_free
        || session
            .user
            .as_ref()
            .is_some_and(|user| user.acl.has_all_keys());
    if !may_all {
        return Err(ErrorReply::constant(
            "NOPERM BCAST tells of keys of every name, and this user may not read all of them; without BCAST it is told of keys that it has read",
        ));
    }
    let before = session
        .told
        .tracking
        .as_ref()
        .and_then(|it| it.listens_to.as_ref());
    let mut all: BTreeSet<Vec<u8>> = before.map(|it| it.0.clone()).unwrap_or_default();
    for prefix in &request.prefixes {
        let overlaps = |other: &&Vec<u8>| other.starts_with(prefix) || prefix.starts_with(other);
        if let Some(other) = all.iter().find(overlaps) {
            let [prefix, other] = [prefix, other.as_slice()].map(|it| String::from_utf8_lossy(it));
            return Err(ErrorReply::new(format!(
                "ERR Prefix '{prefix}' overlaps with an existing prefix '{other}'. Prefixes for a single client must not overlap."
            )));
        }
    }
    all.extend(request.prefixes.iter().map(|it| it.to_vec()));
    if all.is_empty() {
        all.insert(Vec::new());
    }
    let bytes: usize = all.iter().map(Vec::len).sum();
    if all.len() > PREFIXES_MAX || bytes > PREFIX_BYTES_MAX {
        return Err(ErrorReply::constant(
            "ERR a client may listen to 1024 prefixes of 64 KiB together; name shorter ones, or fewer",
        ));
    }
    Ok(Beginnings(all))
}

/// CLIENT CACHING.
pub(super) fn caching(session: &mut Session, is_wanted: bool) -> Result<(), ErrorReply> {
    let tracking = session.told.tracking.as_deref_mut();
    let tracking = tracking.filter(|it| it.opts_in || it.opts_out);
    let Some(tracking) = tracking else {
        return Err(ErrorReply::constant(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        ));
    };
    if is_wanted && !tracking.opts_in {
        return Err(ErrorReply::constant(
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
        ));
    }
    if !is_wanted && !tracking.opts_out {
        return Err(ErrorReply::constant(
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
        ));
    }
    tracking.caching = Some(is_wanted);
    Ok(())
}

/// Who is told in place of the client: -1 if nobody is told anything.
pub(super) fn redirect_of(tracking: Option<&Tracking>) -> i64 {
    tracking.map_or(-1, |it| it.redirect.map_or(0, u64::cast_signed))
}

/// CLIENT TRACKINGINFO.
pub(super) fn info(tracking: Option<&Tracking>, reply: &mut Reply<'_>) {
    let mut flags = Vec::new();
    match tracking {
        None => flags.push("off"),
        Some(it) => {
            flags.push("on");
            let all = [
                (it.listens_to.is_some(), "bcast"),
                (it.opts_in, "optin"),
                (it.opts_in && it.caching == Some(true), "caching-yes"),
                (it.opts_out, "optout"),
                (it.opts_out && it.caching == Some(false), "caching-no"),
                (it.skips_own, "noloop"),
                (it.is_broken, "broken_redirect"),
            ];
            flags.extend(all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word));
        }
    }
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(redirect_of(tracking));
    reply.bulk(b"prefixes");
    let prefixes = tracking.and_then(|it| it.listens_to.as_ref());
    reply.array(prefixes.map_or(0, |it| it.0.len()));
    for prefix in prefixes.into_iter().flat_map(|it| &it.0) {
        reply.bulk(prefix);
    }
}

/// Letters for CLIENT LIST.
pub(super) fn letters(tracking: Option<&Tracking>) -> String {
    let Some(tracking) = tracking else {
        return String::new();
    };
    let all = [
        (true, 't'),
        (tracking.is_broken, 'R'),
        (tracking.listens_to.is_some(), 'B'),
    ];
    all.into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, letter)| letter)
        .collect()
}

#[cfg(test)]
#[path = "tracking_test.rs"]
mod tracking_test;
