use super::*;
use crate::args::OwnedArgs;

#[test]
fn patterns_and_names_are_matched_in_any_case() {
    assert!(ConfigCommand::shows(&[b"SAVE"], "save"));
    assert!(ConfigCommand::shows(&[b"x", b"max*"], "maxmemory"));
    assert!(!ConfigCommand::shows(&[b"maxmem"], "maxmemory"));
}

#[test]
fn set_takes_pairs() {
    let request: OwnedArgs = "config set a 1 b 2".split(' ').collect();
    let parsed = ConfigCommand::parse(CommandId::ConfigSet, request.as_args());
    assert_eq!(
        parsed,
        Ok(ConfigCommand::Set(vec![(b"a", b"1"), (b"b", b"2")]))
    );
    let request: OwnedArgs = "config set a 1 b".split(' ').collect();
    let parsed = ConfigCommand::parse(CommandId::ConfigSet, request.as_args());
    assert_eq!(parsed, Err(ErrorReply::SYNTAX));
}
