//! Which changes an earlier program can read.

use super::*;
use crate::change::TableEdit;
use crate::libraries::LibraryPolicy;
use crate::table::{Alteration, NewTable};
use crate::user_limits::Limited;
use brickyard_routing::Hasher;
use brickyard_types::UnixMillis;

fn of(rules: Vec<AccountRule>) -> Level {
    let change = Change::SetAccount {
        name: "ann".to_owned(),
        initial: Vec::new(),
        rules,
    };
    change.level()
}

#[test]
fn rules_about_limits_need_a_program_that_knows_limits() {
    assert_eq!(of(vec![AccountRule::Reset]), Level::FIRST);
    let limit = AccountRule::Limit(Limited::Operations, 5);
    assert_eq!(of(vec![AccountRule::Reset, limit]), Level::USER_LIMITS);
    assert_eq!(of(vec![AccountRule::ResetLimits]), Level::USER_LIMITS);
}

#[test]
fn libraries_need_a_program_that_knows_functions() {
    let name = "a".to_owned();
    for change in [
        Change::AddLibraries {
            libraries: Vec::new(),
            policy: LibraryPolicy::Append,
        },
        Change::DropLibrary { name },
        Change::FlushLibraries,
    ] {
        assert_eq!(change.level(), Level::FUNCTIONS, "{change:?}");
    }
}

#[test]
fn histories_need_a_program_that_knows_them() {
    let table = NewTable::named("t", 1, UnixMillis(0));
    for change in [
        Change::CreateWithHistory { table, history: 1 },
        Change::AlterWithHistory {
            name: "t".to_owned(),
            alteration: Alteration::default(),
            history: 0,
        },
    ] {
        assert_eq!(change.level(), Level::WATCHES, "{change:?}");
    }
}

#[test]
fn leases_need_a_program_that_knows_them() {
    let table = TableEdit::Alter {
        name: "t".to_owned(),
        alteration: Alteration::default(),
        history: None,
    };
    let change = Change::LeaseTable { table, is_on: true };
    assert_eq!(change.level(), Level::LEASES);
}

#[test]
fn tables_with_another_hash_function_need_a_program_that_knows_it() {
    let changes = |hasher: Hasher| {
        let mut table = NewTable::named("t", 1, UnixMillis(0));
        table.hasher = hasher;
        let edit = TableEdit::Create {
            table: table.clone(),
            history: 0,
        };
        [
            Change::CreateTable(table.clone()),
            Change::CreateWithHistory { table, history: 1 },
            Change::LeaseTable {
                table: edit,
                is_on: true,
            },
        ]
    };
    for hasher in [Hasher::Key64, Hasher::Keyed, Hasher::Ordered(None)] {
        for change in changes(hasher) {
            assert_eq!(change.level(), Level::TABLE_HASHES, "{change:?}");
        }
    }
    let levels = changes(Hasher::Slot).map(|change| change.level());
    assert_eq!(levels, [Level::FIRST, Level::WATCHES, Level::LEASES]);
}

#[test]
fn what_a_program_writes_it_knows() {
    assert_eq!(Change::PauseMoves(true).level(), Level::FIRST);
    const { assert!(Level::TABLE_HASHES.0 <= Level::NEWEST.0) };
}
