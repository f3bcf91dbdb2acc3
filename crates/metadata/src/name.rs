//! Names of tables.

use crate::refusal::Refusal;
use brickyard_types::limits::TABLE_NAME_BYTES_MAX;

/// The table that connections start with and that cannot be dropped.
pub const DEFAULT_TABLE: &str = "default";

/// How many numbered databases `SELECT` knows.
pub const DATABASES: u32 = 16;

/// The table that `SELECT index` stands for: [`DEFAULT_TABLE`] for 0, and tables `1` to `15`, which
/// are made when they are first selected.
#[must_use]
pub fn database_table(index: u32) -> Option<String> {
    match index {
        0 => Some(DEFAULT_TABLE.to_owned()),
        1..DATABASES => Some(index.to_string()),
        _ => None,
    }
}

/// Whether `name` may name a table: letters, digits and `_ . -`, beginning with none of `.` and `-`.
///
/// So names need no quoting in commands, URLs, metrics, file names and option lists.
pub(crate) fn check(name: &str) -> Result<(), Refusal> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let begins_well = !name.starts_with(['.', '-']);
    let length_is_good = (1..=TABLE_NAME_BYTES_MAX).contains(&name.len());
    if begins_well && length_is_good && name.bytes().all(is_allowed) {
        Ok(())
    } else {
        Err(Refusal::BadName {
            name: shortened(name),
        })
    }
}

/// That there is no table of that name.
pub(crate) fn unknown(name: &str) -> Refusal {
    // A name that could not be a table's is shown with care.
    check(name).err().unwrap_or_else(|| Refusal::UnknownTable {
        name: name.to_owned(),
    })
}

/// The name as an error may show it, whatever a client sent.
fn shortened(name: &str) -> String {
    const SHOWN: usize = 40;
    let mut text: String = name
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
#[path = "name_test.rs"]
mod name_test;
