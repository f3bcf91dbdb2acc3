//! What each port is to answer each kind of stranger.
//!
//! In:  a kind, a port. Out: what may be said, and when the connection is to end; whether an answer is so.
//!
//! A word before the end may get lost: whoever sends more than the port reads is told by a reset, which takes it along. So nothing
//! at all is as good as an alert where the connection ends at once.

use super::answer::{Answer, Ending};
use super::kind::Kind;
use super::port::Port;
use std::time::Duration;

/// A port that is to close after a time may take so much longer: it looks now and then, on a machine that is busy.
const LATE: Duration = Duration::from_secs(8);

/// When the port is to end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    AtOnce,
    /// After [`Port::closes_after`].
    InTime,
    /// As long as the client stays: clients' pools keep connections on purpose.
    Never,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) said: &'static str,
    pub(super) ends: Ends,
}

const fn at_once(said: &'static str) -> Expected {
    Expected {
        said,
        ends: Ends::AtOnce,
    }
}

const fn in_time(said: &'static str) -> Expected {
    Expected {
        said,
        ends: Ends::InTime,
    }
}

const fn never(said: &'static str) -> Expected {
    Expected {
        said,
        ends: Ends::Never,
    }
}

impl Expected {
    pub(super) const fn of(kind: Kind, port: Port) -> Self {
        match kind {
            // The words are whole after 25 seconds, and HTTP gives more.
            Kind::SlowHello if matches!(port, Port::Http) => in_time("TLS's answer"),
            Kind::Silent | Kind::HalfHello | Kind::SlowHello => match port {
                // A session that is given up takes its leave.
                Port::Node | Port::Brick => in_time("alert close_notify"),
                Port::Peer | Port::Http => in_time(""),
            },
            Kind::HelloInPieces => in_time("TLS's answer"),
            Kind::HelloThenNoise | Kind::EncryptedPeer => at_once("TLS's answer"),
            Kind::Noise
            | Kind::PlainRequests
            | Kind::PlainPage
            | Kind::PlainHuge
            | Kind::HugeRecord
            | Kind::PlainPeer => at_once("alert decode_error"),
            Kind::HugeHello => match port {
                Port::Node | Port::Brick => at_once("alert close_notify"),
                Port::Peer | Port::Http => at_once(""),
            },
            _ => match port {
                Port::Http => Self::of_http(kind),
                Port::Peer => at_once(match kind {
                    Kind::Foreign => "alert unknown_ca",
                    Kind::Expired => "alert certificate_expired",
                    Kind::Nobody | Kind::NobodyPage | Kind::NobodySilent | Kind::NobodySlowPage => {
                        "alert certificate_required"
                    }
                    // It is none of a node.
                    _ => "alert bad_certificate",
                }),
                Port::Node | Port::Brick => Self::of_clients_port(kind),
            },
        }
    }

    /// HTTP asks for a token, and for no certificate.
    const fn of_http(kind: Kind) -> Self {
        match kind {
            Kind::NobodyPage | Kind::ClientPage => in_time("HTTP/1.1 401 Unauthorized"),
            // What it announces is not waited for.
            Kind::ClientHugePage => at_once("HTTP/1.1 401 Unauthorized"),
            Kind::NobodySilent | Kind::NobodySlowPage | Kind::ClientSilent => in_time(""),
            Kind::ClientBareNoise => at_once("alert decode_error"),
            // Its first line is no line of HTTP, which shows when it is there.
            Kind::ClientSlow => in_time("HTTP/1.1 400 Bad Request"),
            _ => at_once("HTTP/1.1 400 Bad Request"),
        }
    }

    /// Past the certificate it is Redis's protocol, before `AUTH`.
    const fn of_clients_port(kind: Kind) -> Self {
        match kind {
            Kind::Foreign => at_once("alert unknown_ca"),
            Kind::Expired => at_once("alert certificate_expired"),
            Kind::ClientSilent | Kind::ClientHalf | Kind::ClientNoise => never(""),
            Kind::ClientRequests | Kind::ClientSlow => never("-NOAUTH Authentication required."),
            Kind::ClientGuess => {
                never("-WRONGPASS invalid username-password pair or user is disabled.")
            }
            Kind::ClientHuge => at_once("-ERR Protocol error: invalid bulk length"),
            // `GET` is a command; `Host:` ends it, as in Redis.
            Kind::ClientPage => at_once("-ERR wrong number of arguments for 'get' command"),
            Kind::ClientHugePage => at_once(""),
            Kind::ClientBareNoise => at_once("alert decode_error"),
            _ => at_once("alert certificate_required"),
        }
    }

    /// Whether that is what was to be answered to somebody with so much patience.
    pub(super) fn check(self, port: Port, answer: &Answer, patience: Duration) -> bool {
        let is_said = answer.said == self.said;
        let is_lost = answer.said.is_empty();
        match (self.ends, answer.ending) {
            (Ends::AtOnce, Ending::Closed) => is_said || is_lost,
            (Ends::InTime, Ending::Closed) => is_said || is_lost,
            // It was to be closed later, and what is said at the end was not said yet.
            (Ends::InTime, Ending::Open) => {
                patience < port.closes_after() + LATE && (is_said || is_lost)
            }
            (Ends::Never, Ending::Open) => is_said,
            _ => false,
        }
    }
}

#[cfg(test)]
mod expected_test {
    use super::*;

    /// What the page shows was seen; it has to be what is asserted.
    const PAGE: &str = include_str!("../../../../../docs/strangers.md");

    #[test]
    fn the_page_shows_what_is_expected() {
        for kind in Kind::ALL {
            let begin = format!("| {} | ", kind.title());
            let row = PAGE.lines().find_map(|line| line.strip_prefix(&begin));
            let row = row.unwrap_or_else(|| panic!("no row: {}", kind.title()));
            let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
            assert_eq!(cells.len(), Port::ALL.len(), "{row}");
            for (port, cell) in Port::ALL.into_iter().zip(cells) {
                let Expected { said, ends } = Expected::of(kind, port);
                // What is said late depends on the stranger's patience, and whether an end is seen that comes late does too.
                let is_late = ends == Ends::InTime;
                let is_said = said.is_empty() || is_late || cell.contains(&format!("`{said}`"));
                let is_ended = match ends {
                    Ends::Never => cell.contains("open"),
                    Ends::AtOnce => cell.contains("closed"),
                    Ends::InTime => cell.contains("closed") || cell.contains("open"),
                };
                assert!(
                    is_said && is_ended,
                    "{}, {}: {cell}; expected {said}, {ends:?}",
                    kind.title(),
                    port.title()
                );
            }
        }
    }

    #[test]
    fn answer_that_lets_somebody_in_is_a_fault() {
        let answer = |said: &str, ending| Answer {
            said: said.to_owned(),
            ending,
            after: Duration::ZERO,
        };
        let long = Duration::from_secs(3600);
        let check =
            |kind, port, answer: Answer| Expected::of(kind, port).check(port, &answer, long);
        let noauth = "-NOAUTH Authentication required.";
        let requests = Kind::ClientRequests;
        assert!(check(requests, Port::Node, answer(noauth, Ending::Open)));
        assert!(!check(requests, Port::Node, answer("+OK", Ending::Open)));
        assert!(!check(requests, Port::Peer, answer(noauth, Ending::Open)));
        // Whoever says nothing does not stay.
        assert!(check(Kind::Silent, Port::Peer, answer("", Ending::Closed)));
        assert!(!check(Kind::Silent, Port::Peer, answer("", Ending::Open)));
        let page = "HTTP/1.1 200 OK";
        assert!(!check(
            Kind::NobodyPage,
            Port::Http,
            answer(page, Ending::Closed)
        ));
    }
}
