//! A history that no table could have given, for people.

use crate::model::State;
use crate::operation::{Bytes, Operation, Shown, ShownValue};
use std::fmt;

/// Operations that are shown of what went before.
const SHOWN_BEFORE: usize = 12;

/// Why a history is not linearizable, or cannot be checked.
#[derive(Debug)]
pub enum Violation {
    /// An answer that nothing explains.
    Inexplicable {
        /// The key.
        key: Bytes,
        /// The operation that was answered so.
        operation: Box<Operation>,
        /// The values that the key may have had when it was called and later, those in doubt included.
        possible: Vec<Option<Bytes>>,
        /// The operations that were under way or had just ended, in the order of their calls.
        around: Vec<Operation>,
    },
    /// Too much was under way at once on one key: more than a million ways to explain it.
    TooEntangled {
        /// The key.
        key: Bytes,
        /// How many operations were under way, those of unknown outcome included.
        open: usize,
    },
}

impl Violation {
    pub(crate) fn inexplicable(
        operations: &[&Operation],
        index: usize,
        states: impl Iterator<Item = State>,
    ) -> Self {
        let operation = operations[index];
        let mut possible: Vec<State> = states.collect();
        possible.sort();
        possible.dedup();
        let mut around: Vec<Operation> = operations
            .iter()
            .filter(|it| it.called <= operation.returned)
            .map(|&it| it.clone())
            .collect();
        around.sort_by_key(|it| it.called);
        let start = around.len().saturating_sub(SHOWN_BEFORE);
        around.drain(..start);
        Self::Inexplicable {
            key: operation.key.clone(),
            operation: Box::new(operation.clone()),
            possible,
            around,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inexplicable {
                key,
                operation,
                possible,
                around,
            } => {
                writeln!(f, "key {}: nothing explains", Shown(key))?;
                writeln!(f, "  {operation}")?;
                write!(f, "  the key could only hold")?;
                for state in possible {
                    write!(f, " {}", ShownValue(state.as_deref()))?;
                }
                writeln!(f, "\n  what went before:")?;
                for operation in around {
                    writeln!(f, "  {operation}")?;
                }
                Ok(())
            }
            Self::TooEntangled { key, open } => write!(
                f,
                "key {}: {open} operations were under way at once, too many to check; use more keys or fewer clients",
                Shown(key)
            ),
        }
    }
}

impl std::error::Error for Violation {}
