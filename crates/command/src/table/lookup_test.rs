use super::*;
use crate::table::CommandId;

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
fn words_are_lowered_byte_by_byte() {
    for byte in 0..=u8::MAX {
        let word = u64::from_le_bytes([byte, b'A', 0xff, byte, b'Z', b'[', b'@', byte]);
        let lower = word.to_le_bytes().map(|byte| byte.to_ascii_lowercase());
        assert_eq!(lowered(word), u64::from_le_bytes(lower));
    }
}
