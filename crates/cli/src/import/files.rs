//! Records and commands from files: a snapshot (RDB), an append-only file, or the directory of one with its manifest.
//!
//! In:  a path. Out: the tables, once, and a summary.
//!
//! Invariants:
//! - The commands of an append-only file are executed in their order, each once; so an import that broke off begins anew, into
//!   empty tables.
//! - What a crash of the server left half written at the end is left out: a command, or a transaction.

use super::{
    progress::{Named, Progress, Shown},
    sink::Sink,
};
use anyhow::{Context, bail, ensure};
use brickyard_client::Error;
use brickyard_import::{
    KeyChange, Meaning, PlannedAction, Planner, StreamCommand, StreamReader, files_of, meaning,
};
use brickyard_rdb::{Item, RdbReader, RdbValue};
use std::{
    fs::File,
    io::{Cursor, Read},
    path::{Path, PathBuf},
};

const READ_BYTES: usize = 64 * 1024;
/// Keys with something to be done, past which no more is read.
const PENDING_MAX: usize = 20_000;

/// What became of the files.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) stored: u64,
    pub(crate) left_out: Named,
}

/// Imports the file, or the directory.
pub(crate) async fn run(
    path: &Path,
    sink: &mut Sink,
    databases: &[u32],
) -> anyhow::Result<Summary> {
    let mut import = Import {
        planner: Planner::new(databases.iter().copied(), 0, 0),
        databases: databases.to_vec(),
        base: 0,
        transaction: None,
        left_out: Named::new(),
        progress: Progress::new(),
        sink,
    };
    let mut result = Ok(());
    for file in files(path)? {
        result = import
            .file(&file)
            .await
            .with_context(|| file.display().to_string());
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = import.drain().await;
    }
    import.progress.finish();
    result?;
    if let Some(commands) = import.transaction {
        let what = "command of a transaction that was not finished".to_owned();
        import.left_out.insert(what, commands.len() as u64);
    }
    for (database, count) in import.planner.unmapped() {
        import
            .left_out
            .insert(format!("of database {database}"), *count);
    }
    Ok(Summary {
        stored: import.sink.stored,
        left_out: import.left_out,
    })
}

/// The files in their order.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let shown = path.display();
    let mut manifests = Vec::new();
    for entry in path
        .read_dir()
        .with_context(|| format!("cannot read {shown}"))?
    {
        let file = entry?.path();
        if file.extension().is_some_and(|it| it == "manifest") {
            manifests.push(file);
        }
    }
    let [manifest] = &manifests[..] else {
        bail!(
            "{shown} has {} manifests; the directory of an append-only file has one",
            manifests.len()
        );
    };
    let text = std::fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let names = files_of(&text).with_context(|| manifest.display().to_string())?;
    Ok(names.into_iter().map(|name| path.join(name)).collect())
}

struct Import<'a> {
    sink: &'a mut Sink,
    planner: Planner,
    databases: Vec<u32>,
    /// Bytes of the files before this one.
    base: u64,
    /// Commands of a transaction whose end has not come.
    transaction: Option<Vec<StreamCommand>>,
    left_out: Named,
    progress: Progress,
}

impl Import<'_> {
    async fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        let mut file = File::open(path)?;
        let mut begin = vec![0; 6];
        let mut filled = 0;
        while filled < begin.len() {
            match file.read(&mut begin[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        begin.truncate(filled);
        if begin.is_empty() {
            return Ok(());
        }
        let is_snapshot = begin.starts_with(b"REDIS") || begin.starts_with(b"VALKEY");
        ensure!(
            is_snapshot || matches!(begin.first(), Some(b'*' | b'#')),
            "this is neither a snapshot (RDB) nor an append-only file of Redis or Valkey"
        );
        let mut input = Cursor::new(begin).chain(file);
        let mut left = Vec::new();
        let mut taken = 0;
        if is_snapshot {
            let mut reader = RdbReader::new(&mut input)?;
            loop {
                match reader.next_item()? {
                    Item::End => break,
                    item => self.item(item).await?,
                }
            }
            taken = reader.offset();
            (left, _) = reader.into_rest();
        }
        // Commands may stand behind a snapshot.
        let mut reader = StreamReader::new(self.base + taken);
        reader.push(&left);
        let mut bytes = vec![0; READ_BYTES];
        loop {
            while let Some(command) = reader.next_command()? {
                self.command(command).await?;
            }
            match input.read(&mut bytes)? {
                0 => break,
                count => reader.push(&bytes[..count]),
            }
        }
        if reader.is_inside_command() {
            *self
                .left_out
                .entry("command that is cut off at the end".to_owned())
                .or_default() += 1;
        }
        self.base = reader.received();
        Ok(())
    }

    async fn item(&mut self, item: Item) -> anyhow::Result<()> {
        match item {
            Item::Record(record) => {
                let (key, value) = (record.key, record.value);
                self.planner
                    .on_record(record.database, key, value, record.expires_at);
                self.pump(PENDING_MAX).await?;
            }
            Item::Other { database, kind } if self.databases.contains(&database) => {
                self.leave_out(kind)
            }
            Item::TooLong { .. } => self.leave_out("too long"),
            Item::Other { .. } | Item::Announced { .. } | Item::End => {}
        }
        Ok(())
    }

    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    async fn command(&mut self, command: StreamCommand) -> anyhow::Result<()> {
        let name = command
            .words
            .first()
            .map(|it| it.to_ascii_lowercase())
            .unwrap_or_default();
        match (&name[..], &mut self.transaction) {
            (b"multi", _) => self.transaction = Some(Vec::new()),
            (b"exec", transaction) => {
                for command in transaction.take().unwrap_or_default() {
                    self.carry_out(command).await?;
                }
            }
            (_, Some(transaction)) => transaction.push(command),
            (_, None) => self.carry_out(command).await?,
        }
        Ok(())
    }

    async fn carry_out(&mut self, command: StreamCommand) -> anyhow::Result<()> {
        let StreamCommand { start, end, words } = command;
        match meaning(&words) {
            Meaning::Nothing => {}
            Meaning::Select(database) => {
                self.planner.on_select(end, database);
                return Ok(());
            }
            Meaning::Set(pairs, expires_at) => {
                for (key, value) in pairs {
                    let value = RdbValue::String(value);
                    self.planner
                        .on_change(start, end, key, KeyChange::Set { value, expires_at });
                }
            }
            Meaning::Delete(keys) => {
                for key in keys {
                    self.planner.on_change(start, end, key, KeyChange::Delete);
                }
            }
            Meaning::ExpireAt(key, at) => {
                self.planner
                    .on_change(start, end, key, KeyChange::ExpireAt(at))
            }
            Meaning::Persist(key) => self.planner.on_change(start, end, key, KeyChange::Persist),
            Meaning::Flush { is_everything } => self.planner.on_flush(start, end, is_everything),
            Meaning::Other(kind) => self.leave_out(&format!("change of a {kind}")),
            Meaning::Changed(_) | Meaning::Unknown => self.execute(&words).await?,
            Meaning::Swap => bail!(
                "databases are swapped at offset {start} (SWAPDB), which has no likeness in tables"
            ),
        }
        self.planner.on_end(end);
        self.pump(PENDING_MAX).await
    }

    /// A command that rests on what is there: everything before it has to be, and nothing after it.
    async fn execute(&mut self, words: &[Vec<u8>]) -> anyhow::Result<()> {
        self.drain().await?;
        let database = self.planner.database();
        if !self.databases.contains(&database) {
            self.leave_out(&format!("of database {database}"));
            return Ok(());
        }
        let name = String::from_utf8_lossy(words.first().map(Vec::as_slice).unwrap_or_default())
            .to_ascii_lowercase();
        match self.sink.execute(database, words).await {
            Ok(_) => self.sink.stored += 1,
            Err(Error::Refused { text }) => match (name.as_str(), words) {
                // Keys of two slots: step by step, which nobody sees in tables that are being filled.
                ("rename" | "renamenx" | "copy", [_, from, to, ..])
                    if text.starts_with("CROSSSLOT") =>
                {
                    self.move_value(database, from, to, name != "copy").await?;
                }
                _ => self.leave_out(&format!(
                    "{name} ({})",
                    text.split(' ').next().unwrap_or_default()
                )),
            },
            Err(error) => {
                return Err(error).with_context(|| {
                    format!(
                        "{name}, which may be executed once only; begin anew, into empty tables"
                    )
                });
            }
        }
        Ok(())
    }

    async fn move_value(
        &mut self,
        database: u32,
        from: &[u8],
        to: &[u8],
        removes: bool,
    ) -> anyhow::Result<()> {
        let words = |words: &[&[u8]]| words.iter().map(|it| it.to_vec()).collect::<Vec<_>>();
        let payload = self
            .sink
            .execute(database, &words(&[b"DUMP", from]))
            .await?;
        let expiry = self
            .sink
            .execute(database, &words(&[b"PEXPIRETIME", from]))
            .await?;
        let at = expiry.integer().unwrap_or_default().max(0).to_string();
        match payload.bytes() {
            None => self.sink.execute(database, &words(&[b"DEL", to])).await?,
            Some(payload) => {
                let restore = [
                    b"RESTORE",
                    to,
                    at.as_bytes(),
                    payload,
                    b"ABSTTL",
                    b"REPLACE",
                ];
                self.sink.execute(database, &words(&restore)).await?
            }
        };
        if removes {
            self.sink.execute(database, &words(&[b"DEL", from])).await?;
        }
        self.sink.stored += 1;
        Ok(())
    }

    async fn drain(&mut self) -> anyhow::Result<()> {
        self.pump(0).await
    }

    /// Sends what there is, and waits until no more than `most` keys have something to be done.
    async fn pump(&mut self, most: usize) -> anyhow::Result<()> {
        loop {
            while self.sink.has_room()
                && let Some(action) = self.planner.poll_action()
            {
                self.sink.send(action)?;
            }
            if self.planner.pending() <= most {
                let shown = Shown {
                    stored: self.sink.stored,
                    ..Shown::default()
                };
                self.progress.show(&shown, &self.left_out);
                return Ok(());
            }
            match self.sink.next().await? {
                PlannedAction::Change(place, _) => self.planner.on_done(&place),
                PlannedAction::Flush(_) => self.planner.on_flushed(),
            }
        }
    }
}
