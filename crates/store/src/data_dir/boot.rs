//! The `BOOT` file: which boot of the machine the logs were last known to be whole in.
//!
//! ```text
//! boot 4f7e...         the kernel's boot id, or "unknown"
//! tail sure            or "unsure"
//! ```
//! As long as the machine has not rebooted, the page cache still has all that was written, and an
//! unsynced tail is as good as a synced one. After a reboot it may be short. That knowledge must not
//! be lost by storing the new boot id too early (PROTOCOL rule 13), so both lines are one atomic write.

const UNKNOWN: &str = "unknown";

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
