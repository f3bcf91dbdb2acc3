//! What a port answered a stranger.
//!
//! In:  bytes, errors of TLS, how the connection ended. Out: a few words, that can be compared and shown.

use brickyard_tls::rustls::{AlertDescription, Error};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Of a line so much is shown.
const LINE_CHARS: usize = 80;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// Nobody took it.
    NotTaken,
    /// The port closed it.
    Closed,
    /// It is open still when the stranger has lost patience.
    Open,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Nothing, or what it was told, each line once.
    pub(super) said: String,
    pub(super) ending: Ending,
    /// From the connection to its end.
    pub(super) after: Duration,
}

/// An alert by its name in the standard.
pub(super) fn alert(description: AlertDescription) -> String {
    let mut name = String::new();
    let mut is_inside = false;
    for letter in format!("{description:?}").chars() {
        if letter.is_ascii_uppercase() && is_inside {
            name.push('_');
        }
        // `UnknownCA` has one word less than capitals.
        is_inside = letter.is_ascii_lowercase();
        name.push(letter.to_ascii_lowercase());
    }
    format!("alert {name}")
}

/// What the stranger's own end of TLS ended with.
pub(super) fn error(error: &Error) -> String {
    match error {
        Error::AlertReceived(description) => alert(*description),
        other => format!("its TLS: {other}"),
    }
}

/// Bytes that came in the clear.
pub(super) fn bare(bytes: &[u8]) -> String {
    match bytes {
        // An alert has two bytes behind its head: how bad it is, and what.
        [21, 3, _, 0, 2, _, code, ..] => alert(AlertDescription::from(*code)),
        [22, 3, rest @ ..] => {
            // What follows is encrypted, but that somebody answered can be seen.
            let is_more = rest.len() > 4096;
            let more = if is_more { " at length" } else { "" };
            format!("TLS's answer{more}")
        }
        other => lines(other),
    }
}

/// Replies and heads, each line once.
pub(super) fn lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_http = text.starts_with("HTTP/");
    let mut seen = BTreeSet::new();
    let all = text.split("\r\n").filter(|line| {
        let is_shown = if is_http {
            line.starts_with("HTTP/")
        } else {
            !line.is_empty()
        };
        is_shown && seen.insert(*line)
    });
    let shown = all.map(|line| line.chars().take(LINE_CHARS).collect::<String>());
    let shown: Vec<String> = shown.take(3).collect();
    shown.join(" / ")
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.ending {
            Ending::NotTaken => "not taken",
            Ending::Closed => "closed",
            Ending::Open => "open",
        };
        match self.said.as_str() {
            "" => f.write_str(ending),
            said => write!(f, "{said}, {ending}"),
        }
    }
}

#[cfg(test)]
mod answer_test {
    use super::*;

    #[test]
    fn alerts_have_the_names_of_the_standard() {
        assert_eq!(alert(AlertDescription::UnknownCA), "alert unknown_ca");
        assert_eq!(
            bare(&[21, 3, 3, 0, 2, 2, 116]),
            "alert certificate_required"
        );
        assert_eq!(bare(&[22, 3, 3, 0]), "TLS's answer");
    }

    #[test]
    fn a_line_is_told_once_and_of_http_only_its_first() {
        assert_eq!(lines(b"-NOAUTH\r\n-NOAUTH\r\n-ERR\r\n"), "-NOAUTH / -ERR");
        assert_eq!(lines(b"HTTP/1.1 401 No\r\nA: b\r\n\r\n"), "HTTP/1.1 401 No");
        assert_eq!(lines(b""), "");
    }
}
