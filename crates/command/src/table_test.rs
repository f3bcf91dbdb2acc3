use super::*;
use std::collections::BTreeSet;

fn all_specs() -> impl Iterator<Item = &'static Spec> {
    COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
}

#[test]
fn every_command_is_found_in_any_case() {
    for spec in &COMMANDS {
        let upper = spec.name.to_ascii_uppercase();
        let mut mixed = spec.name.to_owned();
        mixed[..1].make_ascii_uppercase();
        for name in [spec.name, &upper, &mixed] {
            assert_eq!(
                lookup(name.as_bytes()).map(|found| found.id),
                Some(spec.id),
                "{name}"
            );
        }
    }
}

#[test]
fn nothing_but_a_name_is_found() {
    for spec in &COMMANDS {
        let name = spec.name.as_bytes();
        for at in 0..name.len() {
            for bit in 0..8 {
                let mut other = name.to_vec();
                other[at] ^= 1 << bit;
                let is_name = COMMANDS
                    .iter()
                    .any(|spec| spec.name.as_bytes().eq_ignore_ascii_case(&other));
                assert_eq!(
                    lookup(&other).is_some(),
                    is_name,
                    "{}",
                    other.escape_ascii()
                );
            }
            let is_name = COMMANDS
                .iter()
                .any(|spec| spec.name.as_bytes() == &name[..at]);
            assert_eq!(lookup(&name[..at]).is_some(), is_name);
        }
    }
    assert!(lookup(b"").is_none());
    assert!(lookup(&[b'g'; 300]).is_none());
}

#[test]
fn ids_and_names_are_unique() {
    let specs: Vec<&Spec> = all_specs().filter(|spec| !spec.is_hidden).collect();
    let ids: BTreeSet<CommandId> = specs.iter().map(|spec| spec.id).collect();
    let names: BTreeSet<&str> = all_specs().map(|spec| spec.name).collect();
    assert_eq!(ids.len(), specs.len());
    assert_eq!(names.len(), all_specs().count());
    assert_eq!(
        ids.len() + 1,
        CommandId::COUNT,
        "every id but ClusterAdmin has a command"
    );
}

#[test]
fn full_names_reach_subcommands() {
    assert_eq!(
        lookup_full(b"client|LIST").map(|spec| spec.id),
        Some(CommandId::ClientList)
    );
    assert!(lookup_full(b"client|list|x").is_none());
    assert!(lookup_full(b"get|x").is_none());
    assert!(lookup_full(b"client|").is_none());
}

#[test]
fn every_command_is_documented() {
    for spec in all_specs().filter(|spec| !spec.is_hidden) {
        assert!(spec.docs.summary.ends_with('.'), "{}", spec.name);
        assert!(!spec.docs.since.is_empty(), "{}", spec.name);
        assert!(!spec.docs.complexity.is_empty(), "{}", spec.name);
    }
}

#[test]
fn keys_are_within_the_arguments_that_the_arity_asks_for() {
    for spec in all_specs() {
        let shortest = usize::from(spec.arity.unsigned_abs());
        for keys in spec.key_specs {
            assert!(keys.positions(shortest).is_some(), "{}", spec.name);
        }
    }
}

#[test]
fn words_are_lowered_byte_by_byte() {
    for byte in 0..=u8::MAX {
        let word = u64::from_le_bytes([byte, b'A', 0xff, byte, b'Z', b'[', b'@', byte]);
        let lower = word.to_le_bytes().map(|byte| byte.to_ascii_lowercase());
        assert_eq!(lowered(word), u64::from_le_bytes(lower));
    }
}
