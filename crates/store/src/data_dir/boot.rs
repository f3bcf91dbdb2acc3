//! The `BOOT` file: which boot of the machine the logs were last known to be whole in.
//!
//! ```text
//! boot 4f7e...         the kernel's boot id, or "unknown"
//! tail sure            or "unsure", or "cut"
//! ```
//! As long as the machine has not rebooted, the page cache still has all that was written, and an
//! unsynced tail is as good as a synced one. After a reboot it may be short. That knowledge must not
//! be lost by storing the new boot id too early (rule `a lost log end is noted first`), so both lines are one atomic
//! write. "Cut": and the end of a log that did not verify was cut off. Mostly no sync had covered it; but a record
//! that rotted after it was synced looks the same if it was the last one.

use crate::config::PageCache;
use crate::disk::{Access, Disk, read_file, replace_file};
use crate::file_name;
use std::io;

const NAME: &str = "BOOT";

const UNKNOWN: &str = "unknown";

/// What a directory knows of the boots of its machine, and so whether what was written without a sync is there.
#[derive(Clone, Debug)]
pub struct BootNote {
    /// The kernel's boot id now; `None` where there is none.
    pub(super) now: Option<String>,
    /// What the file says; `None`: nothing that can be believed.
    boot: Option<Boot>,
}

impl BootNote {
    /// Reads the note of a directory, which may be a new one; `now` is the kernel's boot id.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn load<D: Disk>(disk: &D, is_new: bool, now: Option<String>) -> io::Result<Self> {
        let boot = match read_file(disk, NAME) {
            Ok(bytes) => std::str::from_utf8(&bytes).ok().and_then(Boot::decode),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                is_new.then(Boot::of_new_directory)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { now, boot })
    }

    /// Looks whether a sync of some brick's log has failed: then the page cache is no witness of its tail, although
    /// the machine has not stopped. To be called before a log is opened, which forgets it.
    ///
    /// # Errors
    /// Whatever the operating system says; nothing may be opened then.
    pub fn note_failed_syncs<'a, D: Disk>(
        &mut self,
        disk: &D,
        bricks: impl IntoIterator<Item = &'a D>,
    ) -> io::Result<()> {
        let has_failed = |it: &D| it.open(file_name::UNSURE, Access::Read).is_ok();
        if !bricks.into_iter().any(has_failed) || self.is_tail_unsure() {
            return Ok(());
        }
        // The boot stays the one that was noted: when the logs were whole last has not changed.
        let id = self.boot.as_ref().and_then(|boot| boot.id.clone());
        self.write(disk, id, Tail::Unsure)
    }

    /// Whether writes that were not synced can have been lost since the last process.
    #[must_use]
    pub fn page_cache(&self) -> PageCache {
        let stored = self.boot.as_ref().and_then(|boot| boot.id.as_deref());
        match &self.now {
            Some(now) if stored == Some(now) => PageCache::Intact,
            _ => PageCache::MaybeLost,
        }
    }

    /// Whether the tail of the logs may be missing something that was acknowledged without a sync.
    #[must_use]
    pub fn is_tail_unsure(&self) -> bool {
        let was_unsure = self
            .boot
            .as_ref()
            .is_none_or(|boot| boot.tail != Tail::Sure);
        let stored = self.boot.as_ref();
        was_unsure || stored.is_some_and(|boot| boot.id.is_some() && boot.id != self.now)
    }

    /// Whether the logs may be missing something that was synced: an end was cut off, and not all have been in sync
    /// since.
    #[must_use]
    pub fn is_end_cut(&self) -> bool {
        let tail = self.boot.as_ref().map(|boot| boot.tail);
        tail == Some(Tail::Cut)
    }

    /// Notes that every log was opened in this boot, and so is synced and cut.
    ///
    /// # Errors
    /// Whatever the operating system says; the old note is then still there.
    pub fn confirm_boot<'a, D: Disk + 'a>(
        &mut self,
        disk: &D,
        bricks: impl IntoIterator<Item = &'a D>,
    ) -> io::Result<()> {
        let is_cut = |it: &&D| it.open(file_name::TORN, Access::Read).is_ok();
        let cut: Vec<&D> = bricks.into_iter().filter(is_cut).collect();
        let tail = if self.is_end_cut() || !cut.is_empty() {
            Tail::Cut
        } else if self.is_tail_unsure() {
            Tail::Unsure
        } else {
            Tail::Sure
        };
        self.write(disk, self.now.clone(), tail)?;
        // Only now: what tells of the cut must not be gone before the note is there.
        cut.into_iter()
            .try_for_each(|it| it.remove(file_name::TORN))
    }

    /// Notes that the tail is whole.
    ///
    /// # Errors
    /// Whatever the operating system says; the tail then stays unsure.
    pub fn confirm_tail<D: Disk>(&mut self, disk: &D) -> io::Result<()> {
        self.write(disk, self.now.clone(), Tail::Sure)
    }

    fn write<D: Disk>(&mut self, disk: &D, id: Option<String>, tail: Tail) -> io::Result<()> {
        let boot = Boot { id, tail };
        replace_file(disk, NAME, boot.encode().as_bytes())?;
        self.boot = Some(boot);
        Ok(())
    }
}

/// What may be missing from the ends of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing that was acknowledged.
    Sure,
    /// What no sync had covered.
    Unsure,
    /// Also what was synced last.
    Cut,
}

impl Tail {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Sure, "sure"),
        (Self::Unsure, "unsure"),
        (Self::Cut, "cut"),
    ];
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    pub(super) id: Option<String>,
    pub(super) tail: Tail,
}

impl Boot {
    /// Nothing was written yet, so nothing can have been lost.
    pub(super) fn of_new_directory() -> Self {
        Self {
            id: None,
            tail: Tail::Sure,
        }
    }

    pub(super) fn encode(&self) -> String {
        let mut words = Tail::ALL.iter().filter(|(tail, _)| *tail == self.tail);
        let tail = words.next().map_or("unsure", |(_, word)| word);
        let id = self.id.as_deref().unwrap_or(UNKNOWN);
        format!("boot {id}\ntail {tail}\n")
    }

    /// `None` for anything that was not written by [`Self::encode`]; the caller then assumes the worst.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let id = lines.next()?.strip_prefix("boot ")?;
        let word = lines.next()?.strip_prefix("tail ")?;
        let (tail, _) = Tail::ALL.iter().find(|(_, it)| *it == word)?;
        Some(Self {
            id: (id != UNKNOWN).then(|| id.to_owned()),
            tail: *tail,
        })
    }
}

/// The kernel's boot id; Linux has one, others make do with "a reboot may have happened".
pub(super) fn read_boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}
