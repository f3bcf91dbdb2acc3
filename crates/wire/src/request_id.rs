//! What errors say about a request's id, for programs.
//!
//! The words behind an error's first word are for people; these few are for clients that use ids as well
//! (docs/wire.md, "Requests with ids").

/// How the error begins that refuses an id for being too old to be told from one that was executed; the highest
/// sequence of which that is so follows.
pub const IDS_UP_TO: &str = "TRYAGAIN ids up to ";

/// How the error begins after which asking again is no use: the request was executed, and its reply is gone.
pub const UNKNOWN_EXECUTED: &str = "UNKNOWNRESULT executed:";

/// The same where not even that is known any more.
pub const UNKNOWN_FORGOTTEN: &str = "UNKNOWNRESULT forgotten:";

/// The sequence above which a refused id must be.
///
/// ```
/// use brickyard_wire::ids_up_to;
/// assert_eq!(ids_up_to(b"TRYAGAIN ids up to 17 are not all remembered here; ..."), Some(17));
/// assert_eq!(ids_up_to(b"TRYAGAIN later"), None);
/// ```
#[must_use]
pub fn ids_up_to(error: &[u8]) -> Option<u64> {
    let rest = error.strip_prefix(IDS_UP_TO.as_bytes())?;
    let number = rest.split(|byte| *byte == b' ').next()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Whether sending a request again with its id will not tell what became of it either.
///
/// ```
/// use brickyard_wire::is_past_asking;
/// assert!(is_past_asking(b"UNKNOWNRESULT forgotten: ..."));
/// assert!(!is_past_asking(b"UNKNOWNRESULT the connection to brick 2 broke"));
/// ```
#[must_use]
pub fn is_past_asking(error: &[u8]) -> bool {
    [UNKNOWN_EXECUTED, UNKNOWN_FORGOTTEN]
        .iter()
        .any(|start| error.starts_with(start.as_bytes()))
}
