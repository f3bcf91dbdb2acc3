//! A log of few entries, packed so that states are small and quick to compare.

use std::fmt;

/// Ops that a log has room for: the writes, and a first record for each view.
pub(crate) const OPS_MAX: usize = 8;

/// One record: in which view it was prepared, which write it is, and what was committed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The view.
    pub view: u8,
    /// The write, from 1 on; 0: the first record of a view, which writes nothing.
    pub write: u8,
    /// The commit position that the record carries: what a disk shows to be committed.
    pub committed: u8,
}

impl Entry {
    const fn pack(self) -> u16 {
        (self.view as u16) << 8 | (self.write as u16) << 4 | self.committed as u16
    }

    const fn unpack(packed: u16) -> Self {
        Self {
            view: (packed >> 8) as u8,
            write: (packed >> 4 & 15) as u8,
            committed: (packed & 15) as u8,
        }
    }
}

/// Entries by op, from 1 on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Log {
    len: u8,
    entries: [u16; OPS_MAX],
}

impl Log {
    /// The last op; 0: there is none.
    #[must_use]
    pub const fn last(&self) -> u8 {
        self.len
    }

    /// The entry of an op.
    #[must_use]
    pub fn get(&self, op: u8) -> Option<Entry> {
        let is_there = op >= 1 && op <= self.len;
        is_there.then(|| Entry::unpack(self.entries[usize::from(op) - 1]))
    }

    /// The view of an op; the beginning has view 0.
    #[must_use]
    pub fn view_at(&self, op: u8) -> Option<u8> {
        if op == 0 {
            return Some(0);
        }
        self.get(op).map(|entry| entry.view)
    }

    /// The view of the last entry.
    #[must_use]
    pub fn last_view(&self) -> u8 {
        self.view_at(self.len).unwrap_or_default()
    }

    /// Adds an entry at the end.
    ///
    /// # Panics
    /// If there is no room: the scope asks for more than the model is made for.
    pub fn push(&mut self, entry: Entry) {
        assert!((self.len as usize) < OPS_MAX, "a scope with too many ops");
        self.entries[usize::from(self.len)] = entry.pack();
        self.len += 1;
    }

    /// Has another entry at an op that is there.
    pub fn set(&mut self, op: u8, entry: Entry) {
        if op >= 1 && op <= self.len {
            self.entries[usize::from(op) - 1] = entry.pack();
        }
    }

    /// Forgets what lies above `op`.
    pub fn cut(&mut self, op: u8) {
        while self.len > op {
            self.len -= 1;
            self.entries[usize::from(self.len)] = 0;
        }
    }

    /// The entries from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = (u8, Entry)> + '_ {
        (1..=self.len).filter_map(|op| Some((op, self.get(op)?)))
    }

    /// The op of a write, if it is here.
    #[must_use]
    pub fn op_of(&self, write: u8) -> Option<u8> {
        let mut found = self.iter().filter(|(_, entry)| entry.write == write);
        found.next().map(|(op, _)| op)
    }

    /// The last op up to which this log and another one agree.
    #[must_use]
    pub fn agreement(&self, other: &Self) -> u8 {
        let is_same = |op: &u8| self.view_at(*op) == other.view_at(*op);
        (1..=self.len.min(other.len)).take_while(is_same).count() as u8
    }
}

impl fmt::Debug for Log {
    /// `[1:w1 1:w2 2:-]`: views and what was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (op, entry) in self.iter() {
            let gap = if op == 1 { "" } else { " " };
            match entry.write {
                0 => write!(f, "{gap}{}:-", entry.view)?,
                write => write!(f, "{gap}{}:w{write}", entry.view)?,
            }
        }
        f.write_str("]")
    }
}
