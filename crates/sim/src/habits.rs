//! What clients ask for, and how likely.
//!
//! Not here: how it is asked for (`clients`).

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Set, deleted, appended to, compared.
    Text,
    /// Counted.
    Number,
    /// Set for a while.
    Passing,
    /// Set, and never deleted: every scan has to return it.
    Steady,
    /// Two keys of a slot that are always set together.
    Left,
    Right,
    /// Two of a slot that are always set together for a while.
    BriefLeft,
    BriefRight,
    /// Two of a slot, each set for itself.
    Near,
    Far,
    /// Two of different slots that are always set together.
    ApartLeft,
    ApartRight,
    /// One that goes from one table to the other.
    Moved,
    /// What was copied of that from the other table.
    Copied,
}

/// All of them that are in any run.
pub(crate) const KINDS: [Kind; 12] = [
    Kind::Text,
    Kind::Number,
    Kind::Passing,
    Kind::Steady,
    Kind::Left,
    Kind::Right,
    Kind::BriefLeft,
    Kind::BriefRight,
    Kind::Near,
    Kind::Far,
    Kind::ApartLeft,
    Kind::ApartRight,
];

/// How something is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One command about one key.
    One,
    /// Two about one key, the second without waiting for the first.
    Burst,
    /// A step of a scan.
    Scan,
    /// MGET, of several slots.
    ReadMany,
    /// MSET, of several slots.
    WriteMany,
    /// A transaction about two keys of a slot.
    Pair,
    /// The same for a while.
    BriefPair,
    /// A transaction about two keys of different slots, as the node port has it.
    ApartPair,
    /// MGET of two keys of a slot.
    ReadBoth,
    /// A transaction that is to run only if a key has not changed since.
    Watch,
    /// A whole partition at one moment.
    Export,
    /// The whole table is emptied.
    Clear,
    /// A key goes to the other table.
    Move,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Keys of each kind in a table.
    pub(crate) keys: u64,
    pub(crate) forms: &'static [(Form, u64)],
    /// What keys of single commands are used for.
    pub(crate) kinds: &'static [(Kind, u64)],
    /// Of twelve commands that do not only read so many delete.
    pub(crate) deletes: u64,
    /// One request in so many only reads.
    pub(crate) reads_one_in: u64,
    /// A client in so many is at a brick's own port.
    pub(crate) bricks_one_in: u64,
    /// One in so many of those only reads, at backups as well.
    pub(crate) readers_one_in: u64,
    /// A client in so many does as the client library does.
    pub(crate) libraries_one_in: u64,
    /// Who does so asks bricks for the way to a partition, and remembers few of them.
    pub(crate) looks_up: bool,
    /// Of what the library was answered one call in so many is made again.
    pub(crate) again_one_in: u64,
    /// Who is at a brick's own port, and does not as the library does otherwise, keeps what it reads under leases.
    pub(crate) keeps: bool,
    /// One client more follows what changes.
    pub(crate) follows: bool,
    /// The shortest and the longest time for which a value lives, in milliseconds.
    pub(crate) lives_ms: [u64; 2],
}

impl Habits {
    /// Whether tables are emptied.
    pub(crate) fn clears(&self) -> bool {
        self.forms.iter().any(|(form, _)| *form == Form::Clear)
    }

    /// What is read of each key at the end, kind by kind.
    pub(crate) fn kind(&self, index: usize) -> Option<Kind> {
        let moves = self.forms.iter().any(|(form, _)| *form == Form::Move);
        let more: &[Kind] = if moves {
            &[Kind::Moved, Kind::Copied]
        } else {
            &[]
        };
        KINDS.iter().chain(more).nth(index).copied()
    }

    /// A bit of everything.
    pub(crate) const USUAL: Self = Self {
        keys: 4,
        forms: &[
            (Form::One, 18),
            (Form::Burst, 3),
            (Form::Scan, 2),
            (Form::ReadMany, 2),
            (Form::WriteMany, 2),
            (Form::Pair, 2),
            (Form::BriefPair, 1),
            (Form::Watch, 2),
            (Form::ReadBoth, 1),
            (Form::Export, 2),
        ],
        kinds: &[
            (Kind::Passing, 1),
            (Kind::Number, 2),
            (Kind::Steady, 1),
            (Kind::Text, 5),
            (Kind::Near, 1),
            (Kind::Far, 1),
        ],
        deletes: 1,
        reads_one_in: 3,
        bricks_one_in: 3,
        readers_one_in: 2,
        libraries_one_in: 3,
        looks_up: false,
        again_one_in: 8,
        keeps: false,
        follows: false,
        lives_ms: [100, 2_100],
    };
}
