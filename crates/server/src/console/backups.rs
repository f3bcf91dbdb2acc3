//! Backups that are begun in the console.
//!
//! In:  `console_backup` of the configuration; a table. Out: a process that makes a backup, what it says, how it ended.
//!
//! Where backups go, and as whom they are made, the operator has said in that command: a browser names a table and nothing else.
//!
//! Invariants:
//! - One runs at a time on a node; it ends with the node.
//! - No shell reads the command, and the table's name is one word of it.
//! - However much a process says, [`SAID_BYTES_MAX`] of it are kept.
//!
//! Not here: who may begin one (`back_up`), how it is made (`brickyard backup`, docs/backup.md).

use crate::clock;
use axum::http::StatusCode;
use brickyard_types::UnixMillis;
use serde_json::{Value, json};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// What is kept of what a process says.
const SAID_BYTES_MAX: usize = 2048;

/// The first word of a command that means the program that runs here.
const OWN_PROGRAM: &str = "brickyard";

/// Has `brickyard backup create` say in lines how far it is.
const LINES: &str = "BRICKYARD_PROGRESS_LINES";

/// Where `brickyard backup create` asks, unless the command says otherwise.
const FROM: &str = "BRICKYARD_BACKUP_FROM";

/// A backup that was begun here.
#[derive(Clone, Debug)]
struct Backup {
    table: String,
    user: String,
    begun: UnixMillis,
    /// The end of what it has said.
    said: Vec<u8>,
    /// When it ended, and whether there is a backup.
    ended: Option<(UnixMillis, bool)>,
}

impl Backup {
    fn shown(&self) -> Value {
        let text = String::from_utf8_lossy(&self.said);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        json!({
            "table": self.table,
            "user": self.user,
            "begun_ms": self.begun.0,
            "ended_ms": self.ended.map(|(at, _)| at.0),
            "is_made": self.ended.map(|(_, is_made)| is_made),
            "said": last,
        })
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.said.extend_from_slice(bytes);
        let over = self.said.len().saturating_sub(SAID_BYTES_MAX);
        self.said.drain(..over);
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Backups {
    /// None: the operator has not said how they are made.
    command: Option<Vec<String>>,
    last: Mutex<Option<Backup>>,
}

impl Backups {
    /// By what `console_backup` says.
    pub(super) fn new(command: &str) -> Self {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        Self {
            command: (!words.is_empty()).then_some(words),
            last: Mutex::default(),
        }
    }

    /// What is told; what the process says is for whoever has signed in.
    pub(super) fn shown(&self, has_signed_in: bool) -> Value {
        let last = self.last();
        let last = last.as_ref().filter(|_| has_signed_in).map(Backup::shown);
        json!({ "is_configured": self.command.is_some(), "last": last })
    }

    /// Begins one, of the cluster of the node at `address`.
    pub(super) fn begin(
        self: &Arc<Self>,
        address: &str,
        table: &str,
        user: &str,
    ) -> Result<(), (StatusCode, String)> {
        let Some(words) = &self.command else {
            let why = "this node does not know how: set console_backup in its configuration, or use brickyard backup create";
            return Err((StatusCode::NOT_FOUND, why.to_owned()));
        };
        let mut last = self.last();
        if let Some(running) = last.as_ref().filter(|it| it.ended.is_none()) {
            let why = format!(
                "a backup of table '{}' is being made; wait until it has ended",
                running.table
            );
            return Err((StatusCode::CONFLICT, why));
        }
        let child = spawn(words, address, table).map_err(|error| {
            let why = format!("'{}' of console_backup cannot be run: {error}", words[0]);
            (StatusCode::BAD_GATEWAY, why)
        })?;
        *last = Some(Backup {
            table: table.to_owned(),
            user: user.to_owned(),
            begun: clock::unix(),
            said: Vec::new(),
            ended: None,
        });
        drop(last);
        let backups = Arc::clone(self);
        tokio::spawn(async move { backups.look_after(child).await });
        Ok(())
    }

    async fn look_after(&self, mut child: Child) {
        let (out, errors) = (child.stdout.take(), child.stderr.take());
        let (status, (), ()) = tokio::join!(child.wait(), self.listen(out), self.listen(errors));
        let is_made = status.as_ref().is_ok_and(ExitStatus::success);
        let mut last = self.last();
        let Some(backup) = last.as_mut() else {
            return;
        };
        match status {
            Ok(status) if !is_made => backup.hear(format!(" ({status})").as_bytes()),
            Ok(_) => {}
            Err(error) => backup.hear(format!("its end cannot be seen: {error}").as_bytes()),
        }
        backup.ended = Some((clock::unix(), is_made));
        let (table, user) = (&backup.table, &backup.user);
        let said = &backup.shown()["said"];
        if is_made {
            tracing::info!(table, user, %said, "a backup was made for the console");
        } else {
            tracing::warn!(table, user, %said, "no backup was made for the console");
        }
    }

    async fn listen(&self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else {
            return;
        };
        let mut bytes = [0; SAID_BYTES_MAX];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            if let Some(backup) = self.last().as_mut() {
                backup.hear(&bytes[..count]);
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Backup>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(words: &[String], address: &str, table: &str) -> io::Result<Child> {
    let mut command = match words[0].as_str() {
        OWN_PROGRAM => Command::new(std::env::current_exe()?),
        other => Command::new(other),
    };
    command
        .args(&words[1..])
        .args(["--table", table])
        .env(LINES, "true")
        .env(FROM, address)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

#[cfg(test)]
mod backups_test {
    use super::*;
    use std::time::Duration;

    async fn end_of(backups: &Backups) -> Value {
        let ended = async {
            loop {
                let last = backups.shown(true)["last"].clone();
                if !last["ended_ms"].is_null() {
                    return last;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ended)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn table_is_one_word_of_the_command() {
        let backups = Arc::new(Backups::new(" printf  %s.\\n "));
        backups.begin("127.0.0.1:1", "a; b $(c)", "ann").unwrap();
        let last = end_of(&backups).await;
        assert_eq!(last["said"], "a; b $(c).", "{last}");
        assert_eq!(
            (&last["is_made"], &last["user"]),
            (&json!(true), &json!("ann"))
        );
        // What it said is for whoever has signed in.
        assert!(backups.shown(false)["last"].is_null());
    }

    #[tokio::test]
    async fn failure_is_told_in_the_words_of_the_command() {
        let backups = Arc::new(Backups::new("ls"));
        backups.begin("127.0.0.1:1", "t", "ann").unwrap();
        let last = end_of(&backups).await;
        assert_eq!(last["is_made"], false, "{last}");
        let said = last["said"].as_str().unwrap();
        assert!(
            said.contains("--table") || said.contains("exit status"),
            "{said}"
        );
        // Another one may follow.
        backups.begin("127.0.0.1:1", "t", "ann").unwrap();
        end_of(&backups).await;
    }

    #[tokio::test]
    async fn one_runs_at_a_time_and_little_of_what_it_says_is_kept() {
        let backups = Arc::new(Backups::new("yes --"));
        backups.begin("127.0.0.1:1", "t", "ann").unwrap();
        let (status, why) = backups.begin("127.0.0.1:1", "u", "ann").unwrap_err();
        assert_eq!(status, StatusCode::CONFLICT, "{why}");
        assert!(why.contains("'t'"), "{why}");
        let full = async {
            while backups.last().as_ref().unwrap().said.len() < SAID_BYTES_MAX {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), full)
            .await
            .unwrap();
        assert_eq!(backups.last().as_ref().unwrap().said.len(), SAID_BYTES_MAX);
    }

    #[tokio::test]
    async fn none_is_begun_where_nobody_has_said_how() {
        let backups = Arc::new(Backups::new("  "));
        assert_eq!(backups.shown(true)["is_configured"], false);
        assert_eq!(
            backups.begin("127.0.0.1:1", "t", "ann").unwrap_err().0,
            StatusCode::NOT_FOUND
        );
        let backups = Arc::new(Backups::new("/nowhere/at-all"));
        let (status, why) = backups.begin("127.0.0.1:1", "t", "ann").unwrap_err();
        assert_eq!(status, StatusCode::BAD_GATEWAY);
        assert!(why.contains("/nowhere/at-all"), "{why}");
        assert!(backups.shown(true)["last"].is_null());
    }
}
