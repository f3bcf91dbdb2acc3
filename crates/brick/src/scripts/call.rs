//! A script or function that is called: its text, keys and arguments, and what its commands may do.

use super::functions::{CalledFunction, Functions};
use super::text::ScriptText;
use super::texts::NodeScripts;
use crate::users::{Rights, User};
use brickyard_command::request::{function_arguments, script_arguments};
use brickyard_command::{Args, CommandId, CommandSet, ErrorReply, OwnedArgs, Spec, lookup};
use brickyard_script::{ShaText, Shebang};
use std::sync::Arc;

/// What a user may not do whose script it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Restriction {
    /// The user's name, for the error.
    pub(crate) user: String,
    /// The rules about commands.
    pub(crate) rules: String,
    /// It may not touch any key, so the script may touch those alone that it has declared: these were checked.
    pub(crate) declared_only: bool,
    /// Patterns of channels that it may publish to.
    pub(crate) channels: Vec<Vec<u8>>,
}

impl Restriction {
    /// The commands that are granted.
    pub(crate) fn commands(&self) -> CommandSet {
        let mut commands = CommandSet::NONE;
        for rule in self.rules.split_whitespace() {
            // A command that this version does not know is called by none of its scripts.
            let _unknown = commands.apply(rule);
        }
        commands
    }
}

/// What the commands of a script may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// `None`: every command, on every key.
    pub(crate) restriction: Option<Restriction>,
}

impl Permit {
    /// That of a user with these rights on the table.
    fn of(user: &User, rights: Rights) -> Self {
        let restriction = || Restriction {
            user: user.name.clone(),
            rules: user.acl.command_rules.clone(),
            declared_only: !user.acl.has_all_keys(),
            channels: user.acl.channels.clone(),
        };
        Self {
            reads: rights.read,
            writes: rights.write,
            restriction: (!user.acl.may_all() || !user.acl.has_all_channels()).then(restriction),
        }
    }
}

/// What there is to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) scripts: &'a NodeScripts,
    pub(crate) functions: &'a Functions,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct ScriptCall {
    pub(crate) text: Arc<ScriptText>,
    /// Its text is a library, and this function of it is called.
    pub(crate) function: Option<CalledFunction>,
    /// Its keys, then its other arguments.
    pub(crate) words: OwnedArgs,
    /// How many of the words are keys.
    pub(crate) key_count: usize,
    /// It may not write.
    pub(crate) is_read_only: bool,
    pub(crate) permit: Permit,
}

impl ScriptCall {
    /// What `EVAL` or one of its like calls, for this user.
    pub(crate) fn of(
        known: Known<'_>,
        spec: &Spec,
        args: Args<'_>,
        user: &User,
        rights: Rights,
    ) -> Result<Self, ErrorReply> {
        if is_function(spec.id) {
            let function = known.functions.find(args.at(1)).ok_or(NO_FUNCTION)?;
            let is_ro = spec.id == CommandId::FcallRo;
            if is_ro && !function.no_writes {
                return Err(WRITES);
            }
            let permit = Permit::of(user, rights);
            let rest = function_arguments(args)?;
            let text = Arc::clone(&function.text);
            let mut call = Self::new(text, args, rest, function.no_writes, permit);
            call.function = Some(function.called.clone());
            return Ok(call);
        }
        let rest = script_arguments(args)?;
        let scripts = known.scripts;
        let text = match spec.id {
            CommandId::Evalsha | CommandId::EvalshaRo => {
                let known = sha_text(args.at(1)).and_then(|sha| scripts.find(&sha));
                known.ok_or(NOSCRIPT)?
            }
            _ => scripts.add(args.at(1))?,
        };
        let is_ro = matches!(spec.id, CommandId::EvalRo | CommandId::EvalshaRo);
        let shebang = Shebang::parse(&text.body).map_err(ErrorReply::new)?;
        if is_ro && shebang.is_some_and(|it| !it.no_writes) {
            return Err(WRITES);
        }
        let is_read_only = is_ro || shebang.is_some_and(|it| it.no_writes);
        let permit = Permit::of(user, rights);
        Ok(Self::new(text, args, rest, is_read_only, permit))
    }

    /// A script with its keys, which end at `rest`, and arguments.
    fn new(
        text: Arc<ScriptText>,
        args: Args<'_>,
        rest: usize,
        is_read_only: bool,
        permit: Permit,
    ) -> Self {
        assert!(
            (FIRST_KEY..=args.len()).contains(&rest),
            "of {} words the keys end at {rest}",
            args.len()
        );
        let key_count = rest - FIRST_KEY;
        let mut words = OwnedArgs::with_capacity(0, args.len() - FIRST_KEY);
        args.from(FIRST_KEY).for_each(|word| words.push(word));
        Self {
            text,
            function: None,
            words,
            key_count,
            is_read_only,
            permit,
        }
    }

    /// Whether it may make a table grow that is at its bound.
    pub(crate) fn allows_oom(&self) -> bool {
        match &self.function {
            Some(function) => function.allow_oom,
            None => {
                let shebang = Shebang::parse(&self.text.body).ok().flatten();
                shebang.is_some_and(|it| it.allow_oom)
            }
        }
    }

    /// Its keys.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let words = self.words.as_args();
        assert!(
            self.key_count <= words.len(),
            "{} keys among {} words",
            self.key_count,
            words.len()
        );
        (0..self.key_count).map(move |at| words.at(at))
    }

    /// Its other arguments.
    pub(crate) fn arguments(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.words.as_args().from(self.key_count)
    }

    /// Bytes that it holds, about. Its text may be held by others as well.
    pub(crate) fn bytes(&self) -> usize {
        self.words.memory_bytes() + self.text.body.len()
    }
}

/// Commands that run a script or a function.
pub(crate) const fn is_script(id: CommandId) -> bool {
    matches!(
        id,
        CommandId::Eval
            | CommandId::EvalRo
            | CommandId::Evalsha
            | CommandId::EvalshaRo
            | CommandId::Fcall
            | CommandId::FcallRo
    )
}

/// Those that run a function.
pub(crate) const fn is_function(id: CommandId) -> bool {
    matches!(id, CommandId::Fcall | CommandId::FcallRo)
}

const FIRST_KEY: usize = 3;

const NOSCRIPT: ErrorReply = ErrorReply::constant("NOSCRIPT No matching script. Please use EVAL.");

const NO_FUNCTION: ErrorReply = ErrorReply::constant("ERR Function not found");

const WRITES: ErrorReply =
    ErrorReply::constant("ERR Can not execute a script with write flag using *_ro command.");

/// A name as clients write it, in upper or lower case.
pub(crate) fn sha_text(name: &[u8]) -> Option<ShaText> {
    let mut sha = ShaText::try_from(name).ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

/// The request with the script's text in the place of its name, for a transaction that keeps it. Of a function it is the name: what it is
/// then is what runs.
pub(crate) fn with_text(
    known: Known<'_>,
    spec: &'static Spec,
    args: Args<'_>,
) -> Result<(&'static Spec, OwnedArgs), ErrorReply> {
    if is_function(spec.id) {
        known.functions.find(args.at(1)).ok_or(NO_FUNCTION)?;
        function_arguments(args)?;
        return Ok((spec, args.to_owned()));
    }
    let scripts = known.scripts;
    script_arguments(args)?;
    let by_text = match spec.id {
        CommandId::Evalsha => "eval",
        CommandId::EvalshaRo => "eval_ro",
        _ => return Ok((spec, args.to_owned())),
    };
    let spec = lookup(by_text.as_bytes()).expect("a command of ours");
    let sha = sha_text(args.at(1)).ok_or(NOSCRIPT)?;
    let text = scripts.find(&sha).ok_or(NOSCRIPT)?;
    let mut words = OwnedArgs::with_capacity(args.bytes_len() + text.body.len(), args.len());
    words.push(by_text.as_bytes());
    words.push(&text.body);
    args.from(2).for_each(|word| words.push(word));
    Ok((spec, words))
}
