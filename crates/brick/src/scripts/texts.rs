//! The scripts that a node knows by their names, the functions that the cluster keeps, and what runs of them on it.
//!
//! Invariant: their number and their bytes are bounded; those that were asked for least recently go first. So a client that makes a new text
//! for each call, as it should not, costs others the names of scripts that they do not use.

use super::functions::Functions;
use super::text::ScriptText;
use brickyard_command::ErrorReply;
use brickyard_metadata::Libraries;
use brickyard_script::{ScriptKind, ShaText, Switch, TEXT_BYTES_MAX};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most scripts.
const SCRIPTS_MAX: usize = 10_000;

/// Most bytes of their texts.
const BYTES_MAX: usize = 64 << 20;

/// The texts that are known.
#[derive(Debug, Default)]
struct Texts {
    known: BTreeMap<ShaText, (Arc<ScriptText>, u64)>,
    /// Names by when they were asked for last.
    by_use: BTreeMap<u64, ShaText>,
    uses: u64,
    bytes: usize,
}

impl Texts {
    fn find(&mut self, sha: &ShaText) -> Option<Arc<ScriptText>> {
        let (script, used) = self.known.get_mut(sha)?;
        self.by_use.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, *sha);
        Some(Arc::clone(script))
    }

    fn add(&mut self, script: ScriptText) -> Arc<ScriptText> {
        if let Some(known) = self.find(&script.sha) {
            return known;
        }
        while self.known.len() >= SCRIPTS_MAX
            || self.bytes > 0 && self.bytes + script.body.len() > BYTES_MAX
        {
            self.forget_oldest();
        }
        let script = Arc::new(script);
        self.uses += 1;
        self.bytes += script.body.len();
        self.by_use.insert(self.uses, script.sha);
        self.known
            .insert(script.sha, (Arc::clone(&script), self.uses));
        assert_eq!(
            self.known.len(),
            self.by_use.len(),
            "each script was used at one time"
        );
        script
    }

    fn forget_oldest(&mut self) {
        let oldest = self.by_use.pop_first();
        let gone = oldest.and_then(|(_, sha)| self.known.remove(&sha));
        let (script, _) = gone.expect("there is one that was used");
        assert!(
            self.bytes >= script.body.len(),
            "{} bytes of texts, and one of {}",
            self.bytes,
            script.body.len()
        );
        self.bytes -= script.body.len();
    }

    fn len_and_bytes(&self) -> (usize, usize) {
        (self.known.len(), self.bytes)
    }
}

/// What the bricks of a node have of scripts in common.
#[derive(Debug)]
pub struct NodeScripts {
    texts: Mutex<Texts>,
    /// Those of the newest catalog that a brick has asked for.
    functions: Mutex<Arc<Functions>>,
    /// One a brick.
    switches: Vec<Arc<Switch>>,
}

impl NodeScripts {
    /// Of a node with so many bricks, which knows no script.
    #[must_use]
    pub fn new(bricks: usize) -> Self {
        Self {
            texts: Mutex::default(),
            functions: Mutex::default(),
            switches: (0..bricks).map(|_| Arc::default()).collect(),
        }
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        // Whatever a thread did that has died, each change is whole.
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script of that name, if it is known.
    pub(crate) fn find(&self, sha: &ShaText) -> Option<Arc<ScriptText>> {
        self.texts().find(sha)
    }

    /// Makes a script known.
    pub(crate) fn add(&self, text: &[u8]) -> Result<Arc<ScriptText>, ErrorReply> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(ErrorReply::new(format!(
                "ERR the script is {} bytes long and the longest is {TEXT_BYTES_MAX}; give it data as arguments",
                text.len()
            )));
        }
        let script = ScriptText::new(text);
        Ok(self.texts().add(script))
    }

    /// Forgets all scripts.
    pub(crate) fn flush(&self) {
        // Freed when nobody waits for it any more.
        let forgotten = std::mem::take(&mut *self.texts());
        drop(forgotten);
    }

    /// The functions of these libraries, which the node's bricks share.
    pub(crate) fn functions(&self, libraries: &Libraries) -> Arc<Functions> {
        let mut known = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !known.is_of(libraries) {
            *known = Arc::new(Functions::of(libraries, &known));
        }
        Arc::clone(&known)
    }

    /// Ends the scripts, or the functions, that run on the node's bricks; whether there were any.
    pub(crate) fn kill(&self, what: ScriptKind) -> bool {
        let killed = self.switches.iter().filter(|it| it.kill(what));
        killed.count() > 0
    }

    /// What ends the script that runs on a brick.
    pub(super) fn switch(&self, brick: usize) -> Arc<Switch> {
        Arc::clone(&self.switches[brick])
    }

    /// Scripts that are known, and the bytes of their texts.
    pub(crate) fn len_and_bytes(&self) -> (usize, usize) {
        self.texts().len_and_bytes()
    }
}

#[cfg(test)]
#[path = "texts_test.rs"]
mod texts_test;
