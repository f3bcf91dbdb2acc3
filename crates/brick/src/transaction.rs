//! MULTI and EXEC: commands of one partition that happen together or not at all.

use crate::scripts::ScriptCall;
use crate::version::Version;
use brickyard_command::{OwnedArgs, Spec, keys, table::flag};
use brickyard_types::TableId;

/// A key whose change makes the next `EXEC` do nothing.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) table: TableId,
    pub(crate) key: Vec<u8>,
    /// What it was when it was watched.
    pub(crate) version: Version,
}

/// Commands since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<(&'static Spec, OwnedArgs)>,
    pub(crate) bytes: usize,
    /// One of them was refused when it was queued: `EXEC` refuses them all.
    pub(crate) is_refused: bool,
}

/// A connection's transaction, from `MULTI` or `WATCH` on.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    /// Commands since `MULTI`.
    pub(crate) queue: Option<Queue>,
    pub(crate) watches: Vec<Watch>,
    /// Of the transaction under way, place by place: what is executed here once the rest was.
    pub(crate) after_exec: Vec<Option<(&'static Spec, OwnedArgs)>>,
}

impl Multi {
    /// Forgets what was queued and watched.
    pub(crate) fn discard(&mut self) {
        self.queue = None;
        self.watches.clear();
    }

    /// Op numbers will be used again: a watched key's number no longer says what it was.
    pub(crate) fn forget_versions(&mut self) {
        for watch in &mut self.watches {
            watch.version = Version::Unknown;
        }
    }
}

/// One of a transaction's commands.
#[derive(Debug)]
pub(crate) enum Step {
    /// A command on the partition's keys.
    Command(&'static Spec, OwnedArgs),
    /// A script.
    Script(Box<ScriptCall>),
    /// A command of the connection, which its brick executes once the others are: it has a place in the
    /// array of replies, and no bytes there yet.
    Later,
}

impl Step {
    /// The keys that it names.
    pub(crate) fn keys(&self) -> Vec<&[u8]> {
        match self {
            Self::Command(spec, args) => {
                let args = args.as_args();
                keys(spec, args).map(|at| args.at(at)).collect()
            }
            Self::Script(call) => call.keys().collect(),
            Self::Later => Vec::new(),
        }
    }

    /// The first of them.
    fn first_key(&self) -> Option<&[u8]> {
        match self {
            Self::Command(spec, args) if spec.key_first > 0 => {
                args.as_args().get(spec.key_first as usize)
            }
            Self::Script(call) => call.keys().next(),
            Self::Command(..) | Self::Later => None,
        }
    }

    fn only_reads(&self) -> bool {
        match self {
            Self::Command(spec, _) => spec.has(flag::READONLY),
            Self::Script(call) => call.is_read_only,
            Self::Later => true,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Command(_, args) => args.memory_bytes(),
            Self::Script(call) => call.bytes(),
            Self::Later => 0,
        }
    }
}

/// The other table of a transaction over two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Across {
    /// The number by which the command names it.
    pub(crate) database: u16,
    pub(crate) table: TableId,
}

/// A transaction as the brick of its partition gets it.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) steps: Vec<Step>,
    pub(crate) watches: Vec<Watch>,
    /// Its one step came without a transaction: what that replies is the reply.
    pub(crate) is_bare: bool,
    /// The key that says where it belongs, if its scripts are alone and name none.
    pub(crate) route: Option<Vec<u8>>,
    /// Its keys are of several slots: the partition of this one decides ([`crate::distributed`]).
    pub(crate) anchor: Option<Vec<u8>>,
    /// One of its keys is of another table.
    pub(crate) across: Option<Across>,
}

impl Transaction {
    /// A script that came alone.
    pub(crate) fn of_script(call: ScriptCall, route: Option<Vec<u8>>) -> Self {
        Self {
            steps: vec![Step::Script(Box::new(call))],
            watches: Vec::new(),
            is_bare: true,
            route,
            anchor: None,
            across: None,
        }
    }

    /// A command that came alone.
    pub(crate) fn of_command(spec: &'static Spec, args: OwnedArgs) -> Self {
        Self {
            steps: vec![Step::Command(spec, args)],
            is_bare: true,
            ..Self::default()
        }
    }

    /// The same, one key of which is of that table. Its first key decides: it is of the table that the command was sent to.
    pub(crate) fn spanning(mut self, across: Across) -> Self {
        assert!(self.is_bare, "a command over two tables comes alone");
        self.across = Some(across);
        self.anchored()
    }

    /// The same, with keys of several slots: what it writes decides where.
    pub(crate) fn anchored(mut self) -> Self {
        let writing = self.steps.iter().filter(|step| !step.only_reads());
        let written = writing.filter_map(Step::first_key).next();
        self.anchor = written.or_else(|| self.first_key()).map(<[u8]>::to_vec);
        self
    }

    /// The key that says where it belongs.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        let in_steps = self.steps.iter().find_map(Step::first_key);
        let watched = || self.watches.first().map(|watch| &watch.key[..]);
        let anchor = self.anchor.as_deref();
        anchor
            .or(in_steps)
            .or_else(watched)
            .or(self.route.as_deref())
    }

    /// The keys of its commands that only read, and of its scripts.
    pub(crate) fn keys_read(&self) -> impl Iterator<Item = &[u8]> {
        let read = self.steps.iter().filter(|step| match step {
            Step::Command(spec, _) => spec.has(flag::READONLY),
            Step::Script(_) => true,
            Step::Later => false,
        });
        read.flat_map(Step::keys)
    }

    /// Whether none of its steps writes.
    pub(crate) fn only_reads(&self) -> bool {
        self.steps.iter().all(Step::only_reads)
    }

    /// Whether it has scripts.
    pub(crate) fn has_scripts(&self) -> bool {
        self.steps.iter().any(|it| matches!(it, Step::Script(_)))
    }

    /// Bytes that it holds, about.
    pub(crate) fn bytes(&self) -> usize {
        self.steps.iter().map(Step::bytes).sum()
    }
}
