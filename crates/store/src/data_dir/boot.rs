//! The `BOOT` file: which boot of the machine the logs were last known to be whole in.
//!
//! ```text
//! boot 4f7e...         the kernel's boot id, or "unknown"
//! tail sure            or "unsure"
//! ```
//! As long as the machine has not rebooted, the page cache still has all that was written, and an
//! unsynced tail is as good as a synced one. After a reboot it may be short. That knowledge must not
//! be lost by storing the new boot id too early (PROTOCOL rule 13), so both lines are one atomic write.

use crate::config::PageCache;
use crate::disk::{Access, Disk, read_file, replace_file};
use crate::file_name;
use brickyard_types::sabotage::{self, Bug};
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
        self.write(disk, id, true)
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
        let was_unsure = self.boot.as_ref().is_none_or(|boot| boot.is_tail_unsure);
        let stored = self.boot.as_ref();
        was_unsure || stored.is_some_and(|boot| boot.id.is_some() && boot.id != self.now)
    }

    /// Notes that every log was opened in this boot, and so is synced and cut.
    ///
    /// # Errors
    /// Whatever the operating system says; the old note is then still there.
    pub fn confirm_boot<D: Disk>(&mut self, disk: &D) -> io::Result<()> {
        let is_unsure = self.is_tail_unsure() && !sabotage::is(Bug::BootStoredFirst);
        self.write(disk, self.now.clone(), is_unsure)
    }

    /// Notes that the tail is whole.
    ///
    /// # Errors
    /// Whatever the operating system says; the tail then stays unsure.
    pub fn confirm_tail<D: Disk>(&mut self, disk: &D) -> io::Result<()> {
        self.write(disk, self.now.clone(), false)
    }

    fn write<D: Disk>(
        &mut self,
        disk: &D,
        id: Option<String>,
        is_tail_unsure: bool,
    ) -> io::Result<()> {
        let boot = Boot { id, is_tail_unsure };
        replace_file(disk, NAME, boot.encode().as_bytes())?;
        self.boot = Some(boot);
        Ok(())
    }
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    pub(super) id: Option<String>,
    pub(super) is_tail_unsure: bool,
}

impl Boot {
    /// Nothing was written yet, so nothing can have been lost.
    pub(super) fn of_new_directory() -> Self {
        Self {
            id: None,
            is_tail_unsure: false,
        }
    }

    pub(super) fn encode(&self) -> String {
        let tail = if self.is_tail_unsure {
            "unsure"
        } else {
            "sure"
        };
        let id = self.id.as_deref().unwrap_or(UNKNOWN);
        format!("boot {id}\ntail {tail}\n")
    }

    /// `None` for anything that was not written by [`Self::encode`]; the caller then assumes the worst.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let id = lines.next()?.strip_prefix("boot ")?;
        let is_tail_unsure = match lines.next()?.strip_prefix("tail ")? {
            "sure" => false,
            "unsure" => true,
            _ => return None,
        };
        Some(Self {
            id: (id != UNKNOWN).then(|| id.to_owned()),
            is_tail_unsure,
        })
    }
}

/// The kernel's boot id; Linux has one, others make do with "a reboot may have happened".
pub(super) fn read_boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}
