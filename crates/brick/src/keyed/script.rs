//! The commands of a script: checked as if its client had sent them, and executed against the view of its transaction.
//!
//! In:  a script's call, and a view if it has a key. Out: its reply; what it wrote stays in the view, also what it wrote before an error
//!      of its own, as in Redis. Or it has to wait, or is ended: then nothing of it happens.
//!
//! Invariants:
//! - All keys are of the slot and partition of the view, declared or not.
//! - A command does nothing that its client could not have it do: the rights are those at the time of the call.
//! - It decides against one state: its own writes, and what is prepared.

use super::run::{Refusal, refusal};
use super::step_view::StepView;
use crate::acl::may_use_channel;
use crate::channels::Published;
use crate::core::Core;
use crate::plain::{ping, published, time};
use crate::scripts::ScriptCall;
use crate::shared::Shared;
use crate::view::View;
use brickyard_command::table::flag;
use brickyard_command::{
    Args, CommandId, CommandSet, ErrorReply, Failure, KeyUse, OwnedArgs, Spec, check_key_lengths,
    execute as execute_command, is_data_command, keys_used, resolve,
};
use brickyard_script::{CommandHost, Engine, RegisteredFunction, Script, ScriptEnd, write_value};
use brickyard_types::UnixMillis;
use brickyard_wire::{Protocol, Reply, ReplyDecoder, ReplyStep, Value};
use std::sync::Arc;

/// The engine of one transaction, and whether its scripts may write now.
#[derive(Debug)]
pub(crate) struct ScriptRun {
    engine: Box<Engine>,
    /// Why no write is taken at this moment.
    writes: Option<Refusal>,
    /// Why none is that may make the table grow.
    growth: Option<Refusal>,
    shared: Arc<Shared>,
    /// What its scripts have published; it leaves when the transaction has run.
    published: Vec<Published>,
}

impl ScriptRun {
    /// Takes the brick's engine, for scripts that touch keys of this table.
    pub(crate) fn begin(core: &mut Core, table: usize, only_reads: bool) -> Self {
        let mut run = Self::without_keys(core);
        if !only_reads {
            run.writes = refusal(core, None, table);
            run.growth = refusal(core, Some(Args::new(&[], &[])), table);
        }
        run
    }

    /// Takes the brick's engine, for a script that names no key.
    pub(crate) fn without_keys(core: &mut Core) -> Self {
        let shared = &core.shared;
        let brick = core.id.0 as usize;
        let engine = core
            .workshop
            .scripts
            .take(&shared.scripts, brick, &shared.settings);
        Self {
            engine,
            writes: None,
            growth: None,
            shared: Arc::clone(&core.shared),
            published: Vec::new(),
        }
    }

    /// Nothing of the transaction happens.
    pub(super) fn forget_published(&mut self) {
        self.published.clear();
    }

    /// What its scripts have published, which leaves later then.
    pub(crate) fn take_published(&mut self) -> Vec<Published> {
        std::mem::take(&mut self.published)
    }

    /// Gives the engine back.
    pub(crate) fn end(self, core: &mut Core) {
        assert!(
            Arc::ptr_eq(&self.shared, &core.shared),
            "it was begun on another node"
        );
        for published in self.published {
            core.outbox.publish(published);
        }
        core.workshop.scripts.give_back(self.engine, core.now);
    }

    /// Refuses a text that is no script.
    pub(crate) fn check(&mut self, text: &[u8]) -> Result<(), ErrorReply> {
        self.engine.check(text).map_err(error_of)
    }

    /// What a library registers.
    pub(crate) fn load(&mut self, text: &[u8]) -> Result<Vec<RegisteredFunction>, ErrorReply> {
        self.engine.load(text).map_err(error_of)
    }

    /// Runs a script against a view.
    ///
    /// # Errors
    /// It waits, or was ended: what it staged has to go.
    pub(super) fn run<V: StepView>(
        &mut self,
        call: &ScriptCall,
        view: &mut V,
        reply: &mut Reply<'_>,
    ) -> Result<(), Failure> {
        let now = view.now();
        let (outcome, _) = self.execute(call, Some(view), now);
        match outcome {
            ScriptEnd::Replied(value) => {
                write_value(&value, reply);
                Ok(())
            }
            ScriptEnd::Stopped => Err(Failure::Suspend),
            ScriptEnd::Ended(value) => Err(Failure::Error(error_of(value))),
        }
    }

    /// Runs a script that names no key. `Err`: it has come to this key, and belongs where that is; nothing has happened.
    pub(crate) fn run_without_keys(
        &mut self,
        call: &ScriptCall,
        now: UnixMillis,
        reply: &mut Reply<'_>,
    ) -> Result<(), Vec<u8>> {
        let (outcome, key) = self.execute(call, None::<&mut View<'_>>, now);
        match (outcome, key) {
            (ScriptEnd::Stopped, Some(key)) => return Err(key),
            (ScriptEnd::Replied(value) | ScriptEnd::Ended(value), _) => write_value(&value, reply),
            (ScriptEnd::Stopped, None) => unreachable!("without a view a key alone stops a script"),
        }
        Ok(())
    }

    fn execute<V: StepView>(
        &mut self,
        call: &ScriptCall,
        view: Option<&mut V>,
        now: UnixMillis,
    ) -> (ScriptEnd, Option<Vec<u8>>) {
        let keys: Vec<&[u8]> = call.keys().collect();
        let arguments: Vec<&[u8]> = call.arguments().collect();
        let restriction = call.permit.restriction.as_ref();
        let Self {
            engine,
            writes,
            growth,
            shared,
            published,
        } = self;
        let before = published.len();
        let mut commands = Commands {
            call,
            keys: &keys,
            view,
            now,
            granted: restriction.map(|it| it.commands()),
            writes: writes.as_ref(),
            growth: growth.as_ref().filter(|_| !call.allows_oom()),
            reply: Vec::new(),
            key: None,
            shared,
            published,
        };
        let script = Script {
            body: &call.text.body,
            sha: &call.text.sha,
            keys: &keys,
            args: &arguments,
            function: call.function.as_ref().map(|it| &*it.name),
        };
        let outcome = engine.run(&script, &mut commands);
        if !matches!(outcome, ScriptEnd::Replied(_)) {
            commands.published.truncate(before);
        }
        assert!(
            commands.key.is_none() || outcome == ScriptEnd::Stopped,
            "a script has come to a key and ends with {outcome:?}"
        );
        (outcome, commands.key)
    }
}

fn error_of(value: Value) -> ErrorReply {
    match value {
        Value::Error(line) => ErrorReply::new(line),
        other => ErrorReply::new(format!("ERR the script was ended: {other:?}")),
    }
}

/// Executes the commands of one script.
struct Commands<'r, V> {
    call: &'r ScriptCall,
    keys: &'r [&'r [u8]],
    /// `None`: it has come to no key yet.
    view: Option<&'r mut V>,
    now: UnixMillis,
    /// `None`: all of them.
    granted: Option<CommandSet>,
    writes: Option<&'r Refusal>,
    growth: Option<&'r Refusal>,
    /// Of the command that is executed.
    reply: Vec<u8>,
    /// The key that it has come to without a view.
    key: Option<Vec<u8>>,
    shared: &'r Shared,
    published: &'r mut Vec<Published>,
}

impl<V: StepView> CommandHost for Commands<'_, V> {
    fn call(&mut self, words: &[&[u8]], protocol: Protocol) -> Option<Value> {
        let args: OwnedArgs = words.iter().collect();
        let args = args.as_args();
        let checked = self.check(args);
        match checked.and_then(|spec| self.execute(spec, args, protocol)) {
            Ok(value) => Some(value),
            Err(Failure::Error(error)) => Some(Value::Error(error.as_bytes().to_vec())),
            Err(Failure::Suspend) => None,
        }
    }

    fn may(&self, words: &[&[u8]]) -> Option<bool> {
        let args: OwnedArgs = words.iter().collect();
        let args = args.as_args();
        let spec = resolve(args).ok()?;
        Some(self.check_rights(spec, args).is_ok())
    }
}

impl<V: StepView> Commands<'_, V> {
    /// Whether the script may call the command at all.
    fn check(&self, args: Args<'_>) -> Result<&'static Spec, Failure> {
        let refused = |text: &'static str| Err(Failure::Error(ErrorReply::constant(text)));
        let spec = match resolve(args) {
            Ok(spec) => spec,
            Err(error) if error.as_bytes().starts_with(b"ERR wrong number") => {
                return refused("ERR Wrong number of args calling Redis command from script");
            }
            Err(_) => return refused("ERR Unknown Redis command called from script"),
        };
        if spec.has(flag::NOSCRIPT) {
            return refused("ERR This Redis command is not allowed from script");
        }
        let needs_no_key = matches!(
            spec.id,
            CommandId::Ping
                | CommandId::Echo
                | CommandId::Time
                | CommandId::Publish
                | CommandId::Spublish
        );
        if !is_data_command(spec.id) && !needs_no_key {
            return Err(Failure::Error(ErrorReply::new(format!(
                "ERR This Redis command is not allowed from script: '{}' is about more than the keys of one slot",
                spec.name
            ))));
        }
        self.check_rights(spec, args)?;
        // As in Redis publishing is no reading.
        let publishes = spec.has(flag::PUBSUB);
        if self.call.is_read_only && (publishes || spec.has(flag::WRITE)) {
            return refused("ERR Write commands are not allowed from read-only scripts.");
        }
        if spec.has(flag::WRITE) {
            let refusal = self.growth.filter(|_| spec.has(flag::DENYOOM));
            if let Some(refusal) = refusal.or(self.writes) {
                if let Some(view) = &self.view {
                    refusal.count(view.stats());
                }
                return Err(Failure::Error(refusal.error.clone()));
            }
        }
        check_key_lengths(spec, args)?;
        Ok(spec)
    }

    fn check_rights(&self, spec: &'static Spec, args: Args<'_>) -> Result<(), Failure> {
        let permit = &self.call.permit;
        let refused = |text: String| Err(Failure::Error(ErrorReply::new(text)));
        let may_read = permit.reads || !spec.has(flag::READONLY);
        let may_write = permit.writes || !spec.has(flag::WRITE);
        if !may_read || !may_write {
            return refused(format!(
                "NOPERM ACL failure in script: no permissions to run the '{}' command on this table",
                spec.name
            ));
        }
        let Some(restriction) = &permit.restriction else {
            return Ok(());
        };
        if self.granted.is_some_and(|granted| !granted.has(spec.id)) {
            return refused(format!(
                "NOPERM ACL failure in script: User {} has no permissions to run the '{}' command",
                restriction.user, spec.name
            ));
        }
        if spec.has(flag::PUBSUB) && !may_use_channel(&restriction.channels, args.at(1), false) {
            return refused(format!(
                "NOPERM ACL failure in script: User {} has no permissions to access the channel",
                restriction.user
            ));
        }
        let is_declared = |(key, _): (&[u8], KeyUse)| self.keys.contains(&key);
        if restriction.declared_only && !keys_used(spec, args).all(is_declared) {
            return refused(format!(
                "NOPERM ACL failure in script: user {} may not touch every key, so its scripts touch only keys that \
                 they declare",
                restriction.user
            ));
        }
        Ok(())
    }

    fn execute(
        &mut self,
        spec: &'static Spec,
        args: Args<'_>,
        protocol: Protocol,
    ) -> Result<Value, Failure> {
        self.reply.clear();
        let mut reply = Reply::new(&mut self.reply, protocol);
        match spec.id {
            CommandId::Ping => ping(args, &mut reply)?,
            CommandId::Echo => reply.bulk(args.at(1)),
            CommandId::Time => time(self.now, &mut reply),
            CommandId::Publish | CommandId::Spublish => {
                let (published, count) = published(self.shared, spec, args)?;
                self.published.push(published);
                reply.integer(count);
            }
            _ => {
                let Some(view) = &mut self.view else {
                    assert!(self.key.is_none(), "a script went on behind its first key");
                    let first = keys_used(spec, args).next();
                    self.key = Some(first.map(|(key, _)| key.to_vec()).unwrap_or_default());
                    return Err(Failure::Suspend);
                };
                for (key, _) in keys_used(spec, args) {
                    if !view.has(key) {
                        return Err(Failure::Error(ErrorReply::constant(
                            "ERR Script attempted to access keys that do not hash to the same slot",
                        )));
                    }
                    if !self.keys.contains(&key) && view.must_wait_for(key) {
                        return Err(Failure::Suspend);
                    }
                }
                view.begin_command(spec, args);
                let staged = view.staged();
                let done = execute_command(spec.id, args, *view, &mut reply);
                if done.is_err() {
                    view.take_back(staged);
                }
                done?;
            }
        }
        match ReplyDecoder::default().decode(&self.reply) {
            Ok(ReplyStep::Reply { value, .. }) => Ok(value),
            other => unreachable!("a command has written no reply: {other:?}"),
        }
    }
}
