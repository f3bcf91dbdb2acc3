//! What bricks of different nodes ask one another, as `postcard` carries it.
//!
//! In:  requests and their replies. Out: bytes; or, of any bytes, a whole message that keeps the commands' rules, or none.
//!
//! Invariant: what a peer sent is believed in nothing before it was decoded as a whole.

use crate::accepted::ConnectionId;
use crate::channels::Published;
use crate::distributed::part::Part;
use crate::forward::{ForwardReply, NoRoom, ReplyKind};
use crate::output::PlaceholderId;
use crate::request::{Attempt, Origin, Request, Token, UNBOUNDED, Work};
use crate::scripts::{CalledFunction, Permit, Restriction, ScriptCall, ScriptText};
use crate::tracking::Notice;
use crate::transaction::{Across, Step, Transaction, Watch};
use crate::version::Version;
use brickyard_command::table::{flag, lookup_full};
use brickyard_command::{CommandId, OwnedArgs, Spec, database_named, is_data_command};
use brickyard_routing::{Member, NodeId};
use brickyard_types::record::RequestId;
use brickyard_types::{BrickId, Instant, TableId};
use brickyard_wire::Protocol;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// What another node's brick has sent.
#[derive(Debug)]
pub(crate) enum Message {
    /// It asks.
    Request(Box<Request>),
    /// It answers the request of that number.
    Reply(u64, Reply),
    /// This client of it has room for replies again.
    Resume(u64),
    /// Somebody has published this there.
    Published(Published),
    /// About copies of keys.
    Notice(Notice),
}

/// An answer as it was sent.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: ReplyKind,
}

/// A message as it is sent.
#[derive(Serialize, Deserialize)]
enum Sent<'a> {
    Request {
        number: u64,
        connection: u32,
        client: u64,
        /// Bytes of reply for which there is room.
        room: u64,
        table: TableId,
        is_resp3: bool,
        #[serde(borrow)]
        work: SentWork<'a>,
    },
    Reply {
        number: u64,
        is_misplaced: bool,
        #[serde(borrow)]
        bytes: Bytes<'a>,
    },
    NoRoom {
        number: u64,
        client: u64,
        needed: u64,
    },
    Resume {
        client: u64,
    },
    /// A node that knows none takes it for no message.
    Published {
        is_sharded: bool,
        #[serde(borrow)]
        channel: Bytes<'a>,
        #[serde(borrow)]
        message: Bytes<'a>,
    },
    /// The same.
    Notice(Cow<'a, Notice>),
}

#[derive(Serialize, Deserialize)]
enum SentWork<'a> {
    Command(#[serde(borrow)] Words<'a>),
    Attempt {
        client: u64,
        sequence: u64,
        is_again: bool,
        #[serde(borrow)]
        command: Words<'a>,
    },
    Transaction {
        /// `None`: the connection's brick has a command there.
        #[serde(borrow)]
        steps: Vec<Option<Words<'a>>>,
        #[serde(borrow)]
        watches: Vec<SentWatch<'a>>,
    },
    Subrequest {
        subrequest: u64,
        #[serde(borrow)]
        command: Words<'a>,
    },
    /// A transaction with scripts. A node that knows none takes it for no message.
    Scripts {
        #[serde(borrow)]
        steps: Vec<SentStep<'a>>,
        #[serde(borrow)]
        watches: Vec<SentWatch<'a>>,
        is_bare: bool,
        #[serde(borrow)]
        route: Option<Bytes<'a>>,
    },
    /// A transaction of several slots. A node that knows none takes it, and parts of one, for no message.
    Distributed {
        #[serde(borrow)]
        steps: Vec<SentStep<'a>>,
        #[serde(borrow)]
        watches: Vec<SentWatch<'a>>,
        is_bare: bool,
        #[serde(borrow)]
        anchor: Bytes<'a>,
    },
    Part(Cow<'a, Part>),
    /// What a client that keeps copies reads. A node that knows none takes it for no message.
    Tracked(#[serde(borrow)] Box<Self>),
    /// A command on keys of two tables, that of the request and this one. A node that knows none takes it, and parts of one, for no message.
    Across {
        #[serde(borrow)]
        command: Words<'a>,
        other: TableId,
    },
    PartAcross {
        anchor_table: TableId,
        part: Cow<'a, Part>,
    },
}

#[derive(Serialize, Deserialize)]
enum SentStep<'a> {
    /// The connection's brick has a command there.
    Later,
    Command(#[serde(borrow)] Words<'a>),
    Script(#[serde(borrow)] SentScript<'a>),
    /// A node that knows no functions takes it for no message.
    Function {
        #[serde(borrow)]
        script: SentScript<'a>,
        name: &'a str,
        allow_oom: bool,
    },
}

#[derive(Serialize, Deserialize)]
struct SentScript<'a> {
    #[serde(borrow)]
    text: Bytes<'a>,
    /// Its keys, then its other arguments.
    #[serde(borrow)]
    words: Words<'a>,
    key_count: u64,
    is_read_only: bool,
    may_read: bool,
    may_write: bool,
    #[serde(borrow)]
    restriction: Option<SentRestriction<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SentRestriction<'a> {
    user: &'a str,
    rules: &'a str,
    declared_only: bool,
    /// Patterns of channels.
    #[serde(borrow)]
    channels: Vec<Bytes<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SentWatch<'a> {
    table: TableId,
    version: [u64; 4],
    #[serde(borrow)]
    key: Bytes<'a>,
}

impl<'a> SentWatch<'a> {
    fn of(watch: &'a Watch) -> Self {
        Self {
            table: watch.table,
            version: watch.version.encode(),
            key: Bytes(&watch.key),
        }
    }

    fn watch(&self) -> Watch {
        Watch {
            table: self.table,
            version: Version::decode(self.version),
            key: self.key.0.to_vec(),
        }
    }
}

impl<'a> SentScript<'a> {
    fn of(call: &'a ScriptCall) -> Self {
        let restriction = call.permit.restriction.as_ref();
        Self {
            text: Bytes(&call.text.body),
            words: Words(call.words.as_args().from(0).map(Bytes).collect()),
            key_count: call.key_count as u64,
            is_read_only: call.is_read_only,
            may_read: call.permit.reads,
            may_write: call.permit.writes,
            restriction: restriction.map(|it| SentRestriction {
                user: &it.user,
                rules: &it.rules,
                declared_only: it.declared_only,
                channels: it.channels.iter().map(|it| Bytes(it)).collect(),
            }),
        }
    }

    fn call(&self) -> Option<ScriptCall> {
        let key_count = usize::try_from(self.key_count).ok()?;
        let restriction = self.restriction.as_ref().map(|it| Restriction {
            user: it.user.to_owned(),
            rules: it.rules.to_owned(),
            declared_only: it.declared_only,
            channels: it.channels.iter().map(|it| it.0.to_vec()).collect(),
        });
        (key_count <= self.words.0.len()).then(|| ScriptCall {
            text: Arc::new(ScriptText::new(self.text.0)),
            function: None,
            words: self.words.0.iter().map(|word| word.0).collect(),
            key_count,
            is_read_only: self.is_read_only,
            permit: Permit {
                reads: self.may_read,
                writes: self.may_write,
                restriction,
            },
        })
    }
}

impl<'a> SentStep<'a> {
    fn of(step: &'a Step) -> Self {
        match step {
            Step::Later => Self::Later,
            Step::Command(spec, args) => Self::Command(Words::of(spec, args)),
            Step::Script(call) => {
                let script = SentScript::of(call);
                match &call.function {
                    None => Self::Script(script),
                    Some(function) => Self::Function {
                        script,
                        name: &function.name,
                        allow_oom: function.allow_oom,
                    },
                }
            }
        }
    }

    fn step(&self) -> Option<Step> {
        Some(match self {
            Self::Later => Step::Later,
            Self::Command(command) => {
                let (spec, args) = command.data_command()?;
                Step::Command(spec, args)
            }
            Self::Script(script) => Step::Script(Box::new(script.call()?)),
            Self::Function {
                script,
                name,
                allow_oom,
            } => {
                let mut call = script.call()?;
                call.function = Some(CalledFunction {
                    name: (*name).into(),
                    allow_oom: *allow_oom,
                });
                Step::Script(Box::new(call))
            }
        })
    }
}

/// The arguments of a command, the first its name.
#[derive(Serialize, Deserialize)]
struct Words<'a>(#[serde(borrow)] Vec<Bytes<'a>>);

/// Bytes that are copied as one.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a [u8]>::deserialize(deserializer).map(Self)
    }
}

impl<'a> Words<'a> {
    fn of(spec: &'static Spec, args: &'a OwnedArgs) -> Self {
        let args = args.as_args();
        // The name as this version knows it, whatever the client wrote.
        let name = std::iter::once(spec.name.as_bytes());
        Self(name.chain(args.from(1)).map(Bytes).collect())
    }

    /// A command that may be asked of another brick.
    fn command(&self) -> Option<(&'static Spec, OwnedArgs)> {
        let spec = lookup_full(self.0.first()?.0)?;
        // Of the others that have subcommands, all are of one connection.
        let may = !spec.name.contains('|') || is_data_command(spec.id);
        may.then(|| self.command_of(spec))?
    }

    /// One on keys, as a transaction has them.
    fn data_command(&self) -> Option<(&'static Spec, OwnedArgs)> {
        self.command().filter(|(spec, _)| is_data_command(spec.id))
    }

    /// One whose share of the whole table may be.
    fn subrequest(&self) -> Option<(&'static Spec, OwnedArgs)> {
        let spec = lookup_full(self.0.first()?.0)?;
        let is_whole = !spec.name.contains('|')
            || matches!(
                spec.id,
                CommandId::TableDescribe | CommandId::TableHotkeys | CommandId::TableBigkeys
            );
        is_whole.then(|| self.command_of(spec))?
    }

    fn command_of(&self, spec: &'static Spec) -> Option<(&'static Spec, OwnedArgs)> {
        let args: OwnedArgs = self.0.iter().map(|word| word.0).collect();
        (spec.subcommands.is_empty() && spec.accepts(self.0.len())).then_some((spec, args))
    }
}

impl<'a> SentWork<'a> {
    fn of(work: &'a Work) -> Self {
        match work {
            Work::Command(spec, args) => Self::Command(Words::of(spec, args)),
            Work::Attempt(attempt, spec, args) => Self::Attempt {
                client: attempt.id.client,
                sequence: attempt.id.sequence,
                is_again: attempt.is_again,
                command: Words::of(spec, args),
            },
            Work::Subrequest(spec, args, subrequest) => Self::Subrequest {
                subrequest: *subrequest,
                command: Words::of(spec, args),
            },
            Work::Transaction(transaction) => Self::of_transaction(transaction),
            Work::Part(part) => match part.anchor_table {
                None => Self::Part(Cow::Borrowed(part)),
                Some(anchor_table) => Self::PartAcross {
                    anchor_table,
                    part: Cow::Borrowed(part),
                },
            },
        }
    }

    fn of_transaction(transaction: &'a Transaction) -> Self {
        if let (Some(across), [Step::Command(spec, args)]) =
            (transaction.across, &transaction.steps[..])
        {
            return Self::Across {
                command: Words::of(spec, args),
                other: across.table,
            };
        }
        let watches = transaction.watches.iter().map(SentWatch::of).collect();
        if let Some(anchor) = &transaction.anchor {
            return Self::Distributed {
                steps: transaction.steps.iter().map(SentStep::of).collect(),
                watches,
                is_bare: transaction.is_bare,
                anchor: Bytes(anchor),
            };
        }
        if transaction.has_scripts() {
            return Self::Scripts {
                steps: transaction.steps.iter().map(SentStep::of).collect(),
                watches,
                is_bare: transaction.is_bare,
                route: transaction.route.as_deref().map(Bytes),
            };
        }
        let steps = transaction.steps.iter().map(|step| match step {
            Step::Command(spec, args) => Some(Words::of(spec, args)),
            Step::Later | Step::Script(_) => None,
        });
        Self::Transaction {
            steps: steps.collect(),
            watches,
        }
    }

    fn work(self) -> Option<Work> {
        match self {
            Self::Command(command) => {
                let (spec, args) = command.command()?;
                Some(Work::Command(spec, args))
            }
            Self::Attempt {
                client,
                sequence,
                is_again,
                command,
            } => {
                let attempt = Attempt {
                    id: RequestId { client, sequence },
                    is_again,
                    was_lost: false,
                };
                let (spec, args) = command.command()?;
                let is_write = is_data_command(spec.id) && spec.has(flag::WRITE);
                is_write.then_some(Work::Attempt(attempt, spec, args))
            }
            Self::Subrequest {
                subrequest,
                command,
            } => {
                let (spec, args) = command.subrequest()?;
                Some(Work::Subrequest(spec, args, subrequest))
            }
            Self::Transaction { steps, watches } => {
                let steps = steps.into_iter().map(|step| match step {
                    Some(command) => {
                        let (spec, args) = command.data_command()?;
                        Some(Step::Command(spec, args))
                    }
                    None => Some(Step::Later),
                });
                Some(Work::Transaction(Box::new(Transaction {
                    steps: steps.collect::<Option<_>>()?,
                    watches: watches.iter().map(SentWatch::watch).collect(),
                    is_bare: false,
                    route: None,
                    anchor: None,
                    across: None,
                })))
            }
            Self::Scripts {
                steps,
                watches,
                is_bare,
                route,
            } => {
                // The reply of a step is an element of an array, or the only one there is.
                let has_its_form = !is_bare
                    || matches!(steps[..], [SentStep::Script(_) | SentStep::Function { .. }]);
                let steps: Option<Vec<Step>> = steps.iter().map(SentStep::step).collect();
                let transaction = Transaction {
                    steps: steps?,
                    watches: watches.iter().map(SentWatch::watch).collect(),
                    is_bare,
                    route: route.map(|key| key.0.to_vec()),
                    anchor: None,
                    across: None,
                };
                has_its_form.then(|| Work::Transaction(Box::new(transaction)))
            }
            Self::Distributed {
                steps,
                watches,
                is_bare,
                anchor,
            } => {
                let steps: Option<Vec<Step>> = steps.iter().map(SentStep::step).collect();
                let transaction = Transaction {
                    steps: steps?,
                    watches: watches.iter().map(SentWatch::watch).collect(),
                    is_bare,
                    route: None,
                    anchor: Some(anchor.0.to_vec()),
                    across: None,
                };
                let has_its_form = !is_bare
                    || matches!(transaction.steps[..], [Step::Script(_) | Step::Command(..)]);
                has_its_form.then(|| Work::Transaction(Box::new(transaction)))
            }
            Self::Part(part) => {
                let part = part.into_owned();
                part.is_sound().then(|| Work::Part(Box::new(part)))
            }
            // Its like is taken apart before.
            Self::Tracked(_) => None,
            Self::Across { command, other } => {
                let (spec, args) = command.data_command()?;
                let database = database_named(spec.id, args.as_args()).ok()??;
                let across = Across {
                    database,
                    table: other,
                };
                let transaction = Transaction::of_command(spec, args).spanning(across);
                Some(Work::Transaction(Box::new(transaction)))
            }
            Self::PartAcross { anchor_table, part } => {
                let part = Part {
                    anchor_table: Some(anchor_table),
                    ..part.into_owned()
                };
                part.is_sound().then(|| Work::Part(Box::new(part)))
            }
        }
    }
}

pub(super) fn encode_request(number: u64, request: &Request) -> Vec<u8> {
    encode(&Sent::Request {
        number,
        connection: request.origin.token.connection.0,
        client: request.client,
        room: request.room as u64,
        table: request.table,
        is_resp3: request.protocol == Protocol::Resp3,
        work: match (SentWork::of(&request.work), request.is_tracked) {
            (work, false) => work,
            (work, true) => SentWork::Tracked(Box::new(work)),
        },
    })
}

pub(super) fn encode_reply(reply: &ForwardReply) -> Vec<u8> {
    let number = reply.token.client;
    encode(&match reply.kind {
        ReplyKind::Outcome | ReplyKind::Misplaced => Sent::Reply {
            number,
            is_misplaced: reply.kind == ReplyKind::Misplaced,
            bytes: Bytes(&reply.bytes),
        },
        ReplyKind::NoRoom(NoRoom { client, needed }) => Sent::NoRoom {
            number,
            client,
            needed: needed as u64,
        },
    })
}

pub(super) fn encode_published(published: &Published) -> Vec<u8> {
    encode(&Sent::Published {
        is_sharded: published.is_sharded,
        channel: Bytes(&published.channel),
        message: Bytes(&published.message),
    })
}

pub(super) fn encode_notice(notice: &Notice) -> Vec<u8> {
    encode(&Sent::Notice(Cow::Borrowed(notice)))
}

pub(super) fn encode_resume(client: u64) -> Vec<u8> {
    encode(&Sent::Resume { client })
}

fn encode(sent: &Sent<'_>) -> Vec<u8> {
    postcard::to_allocvec(sent).expect("messages are plain data")
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

/// What a message of another node's brick is, for whoever counts them.
#[doc(hidden)]
#[must_use]
pub fn message_kind(bytes: &[u8]) -> Option<&'static str> {
    let (sent, _) = postcard::take_from_bytes::<Sent<'_>>(bytes).ok()?;
    Some(match sent {
        Sent::Request { .. } => "request",
        Sent::Reply { .. } => "reply",
        Sent::NoRoom { .. } => "no room",
        Sent::Resume { .. } => "resume",
        Sent::Published { .. } => "published",
        Sent::Notice(_) => "notice",
    })
}

/// Whether it is said to be about two tables, and names one twice.
fn is_about_itself(work: &Work, table: TableId) -> bool {
    let other = match work {
        Work::Transaction(transaction) => transaction.across.map(|it| it.table),
        Work::Part(part) => part.anchor_table,
        _ => None,
    };
    other == Some(table)
}

/// Reads what the brick `from` has sent.
pub(crate) fn decode(from: Member, bytes: &[u8]) -> Option<Message> {
    let (sent, rest) = postcard::take_from_bytes::<Sent<'_>>(bytes).ok()?;
    if !rest.is_empty() {
        return None;
    }
    match sent {
        Sent::Request {
            number,
            connection,
            client,
            room,
            table,
            is_resp3,
            work,
        } => {
            let token = Token {
                client: number,
                connection: ConnectionId(connection),
                placeholder: PlaceholderId(0),
                part: 0,
            };
            let protocol = match is_resp3 {
                true => Protocol::Resp3,
                false => Protocol::Resp2,
            };
            let origin = Origin {
                member: from,
                token,
            };
            let (work, is_tracked) = match work {
                SentWork::Tracked(work) => (*work, true),
                work => (work, false),
            };
            // Its time is not sent: how long it may take here is for this brick to say.
            let work = work.work()?;
            if is_about_itself(&work, table) {
                return None;
            }
            let request = Request {
                room: usize::try_from(room).unwrap_or(UNBOUNDED),
                client,
                is_tracked,
                ..Request::new(origin, table, protocol, work, Instant(0))
            };
            Some(Message::Request(Box::new(request)))
        }
        Sent::Reply {
            number,
            is_misplaced,
            bytes,
        } => {
            let bytes = bytes.0.to_vec();
            let kind = match is_misplaced {
                true => ReplyKind::Misplaced,
                false => ReplyKind::Outcome,
            };
            Some(Message::Reply(number, Reply { bytes, kind }))
        }
        Sent::NoRoom {
            number,
            client,
            needed,
        } => {
            let needed = usize::try_from(needed).ok()?;
            let kind = ReplyKind::NoRoom(NoRoom { client, needed });
            let bytes = Vec::new();
            Some(Message::Reply(number, Reply { bytes, kind }))
        }
        Sent::Resume { client } => Some(Message::Resume(client)),
        Sent::Published {
            is_sharded,
            channel,
            message,
        } => Some(Message::Published(Published {
            is_sharded,
            channel: channel.0.to_vec(),
            message: message.0.to_vec(),
        })),
        Sent::Notice(notice) => {
            let notice = notice.into_owned();
            notice.is_sound().then_some(Message::Notice(notice))
        }
    }
}

#[cfg(test)]
#[path = "message_test.rs"]
mod message_test;
