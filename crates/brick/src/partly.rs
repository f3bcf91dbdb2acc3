//! What may be said of a command of which a part failed: no promise that does not hold for the whole.

use brickyard_wire::{Fate, fate};

/// A read that failed has changed nothing, whatever became of writes that it waited for.
pub(crate) fn not_read(error: &[u8]) -> Vec<u8> {
    match error.strip_prefix(b"-UNKNOWNRESULT ") {
        Some(reason) => {
            let start = b"-TRYAGAIN the command only reads, and a part of it was not answered: ";
            [&start[..], reason].concat()
        }
        None => error.to_vec(),
    }
}

/// Whether a reply is an error that leaves open what became of a write.
pub(crate) fn is_unknown(reply: &[u8]) -> bool {
    let error = reply.strip_prefix(b"-");
    error.is_some_and(|error| fate(error) == Fate::Unknown)
}

/// One key's part was refused and others' were executed: a prefix that promises "not executed" would
/// not be true of the command, and clients send it again by that promise.
pub(crate) fn partly_done(error: &[u8]) -> Vec<u8> {
    if is_unknown(error) {
        return error.to_vec();
    }
    let reason = error.strip_prefix(b"-").unwrap_or(error);
    let start = b"-UNKNOWNRESULT a part of the command was executed and another was not: ";
    [&start[..], reason].concat()
}

/// Something was lost that may be a part of the command, or not.
pub(crate) fn maybe_partly_done(error: &[u8]) -> Vec<u8> {
    if is_unknown(error) {
        return error.to_vec();
    }
    let reason = error.strip_prefix(b"-").unwrap_or(error);
    let start = b"-UNKNOWNRESULT a part of the command may not have been executed: ";
    [&start[..], reason].concat()
}
