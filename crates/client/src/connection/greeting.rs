//! What a connection starts with: who we are, which table, and whether backups may answer.
//!
//! In:  the replies, in order. Out: the requests, and what the other side is.
//!
//! Invariant: no call is sent before the last reply, so none can reach another table than its own.

use brickyard_wire::{Value, encode_request};
use std::fmt;

/// What connections to one table have in common.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) table: Option<String>,
    /// Reads may go to backups.
    pub(crate) reads_from_backups: bool,
}

impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeting")
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("table", &self.table)
            .field("reads_from_backups", &self.reads_from_backups)
            .finish()
    }
}

/// A request of the greeting, to be matched with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GreetingStep {
    Hello,
    /// Asks for the clock that ids follow; who does not know the question knows no ids.
    Ids,
    Table,
    ReadOnly,
    /// The server pushes word of every change of the map, if it knows how.
    Watch,
}

/// What a reply to the greeting means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Go on; the other side is a node port, or a brick's, or of an unknown kind.
    Hello { is_node_port: Option<bool> },
    /// Go on; ids are known, and the clock says so many microseconds, or they are not.
    Ids(Option<u64>),
    /// Go on.
    Accepted,
    /// The server does not want this connection.
    Refused(Vec<u8>),
}

impl Greeting {
    /// The requests that are sent first, all at once.
    pub(crate) fn first(&self) -> Vec<(GreetingStep, Vec<u8>)> {
        let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
        if let Some(password) = &self.password {
            let user = self.user.as_deref().unwrap_or("default");
            hello.extend([b"AUTH", user.as_bytes(), password.as_bytes()]);
        }
        let mut steps = vec![
            (GreetingStep::Hello, encoded(&hello)),
            (GreetingStep::Ids, encoded(&["REQUEST", "NOW"])),
        ];
        if let Some(table) = &self.table {
            let words: [&[u8]; 3] = [b"TABLE", b"USE", table.as_bytes()];
            steps.push((GreetingStep::Table, encoded(&words)));
        }
        steps.push((
            GreetingStep::Watch,
            encoded(&[b"CLUSTER".as_slice(), b"WATCH", b"ON"]),
        ));
        steps
    }

    /// What is sent once the other side is known; a node port refuses `READONLY`.
    pub(crate) fn second(&self, is_node_port: Option<bool>) -> Option<(GreetingStep, Vec<u8>)> {
        let is_wanted = self.reads_from_backups && is_node_port == Some(false);
        is_wanted.then(|| (GreetingStep::ReadOnly, encoded(&[b"READONLY"])))
    }
}

impl GreetingStep {
    pub(crate) fn answer(self, reply: &Value) -> Answer {
        match (self, reply) {
            // Only some servers know that; the others' maps are asked for when they prove wrong.
            (Self::Watch, _) => Answer::Accepted,
            (Self::Ids, reply) => {
                Answer::Ids(reply.integer().and_then(|it| u64::try_from(it).ok()))
            }
            (_, Value::Error(line)) => Answer::Refused(line.clone()),
            (Self::Hello, reply) => Answer::Hello {
                is_node_port: match reply.field("mode").and_then(Value::bytes) {
                    Some(b"standalone") => Some(true),
                    Some(b"cluster") => Some(false),
                    _ => None,
                },
            },
            _ => Answer::Accepted,
        }
    }
}

fn encoded<A: AsRef<[u8]>>(words: &[A]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_request(&mut bytes, words);
    bytes
}

#[cfg(test)]
mod greeting_test {
    use super::*;

    fn text(steps: &[(GreetingStep, Vec<u8>)]) -> String {
        let bytes: Vec<u8> = steps.iter().flat_map(|step| step.1.clone()).collect();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn user_and_table_come_first_and_together() {
        let greeting = Greeting {
            user: Some("ann".to_owned()),
            password: Some("pw".to_owned()),
            table: Some("t".to_owned()),
            reads_from_backups: true,
        };
        assert_eq!(
            text(&greeting.first()),
            "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n\
             *2\r\n$7\r\nREQUEST\r\n$3\r\nNOW\r\n*3\r\n$5\r\nTABLE\r\n$3\r\nUSE\r\n$1\r\nt\r\n\
             *3\r\n$7\r\nCLUSTER\r\n$5\r\nWATCH\r\n$2\r\nON\r\n"
        );
        assert!(
            greeting.second(Some(true)).is_none(),
            "a node port refuses READONLY"
        );
        assert!(greeting.second(None).is_none());
        let (step, _) = greeting.second(Some(false)).expect("for a brick's port");
        assert_eq!(step, GreetingStep::ReadOnly);
        assert!(!format!("{greeting:?}").contains("pw"));
    }

    #[test]
    fn the_kind_of_port_is_read_from_the_reply_to_hello() {
        let reply = |mode: &str| {
            Value::Map(vec![(
                Value::Bulk(b"mode".to_vec()),
                Value::Bulk(mode.into()),
            )])
        };
        let is_node_port = |mode: &str| match GreetingStep::Hello.answer(&reply(mode)) {
            Answer::Hello { is_node_port } => is_node_port,
            other => panic!("{other:?}"),
        };
        assert_eq!(is_node_port("standalone"), Some(true));
        assert_eq!(is_node_port("cluster"), Some(false));
        assert_eq!(is_node_port("sentinel"), None);
        let refusal = Value::Error(b"WRONGPASS x".to_vec());
        assert_eq!(
            GreetingStep::Hello.answer(&refusal),
            Answer::Refused(b"WRONGPASS x".to_vec())
        );
    }
}
