use super::*;
use crate::args::OwnedArgs;

fn arguments(words: &[&str]) -> Result<usize, String> {
    let args: OwnedArgs = words.iter().collect();
    script_arguments(args.as_args())
        .map_err(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[test]
fn arguments_begin_behind_the_keys() {
    assert_eq!(arguments(&["eval", "return 1", "0"]), Ok(3));
    assert_eq!(arguments(&["eval", "return 1", "0", "a"]), Ok(3));
    assert_eq!(arguments(&["eval", "return 1", "2", "k", "l", "a"]), Ok(5));
}

#[test]
fn more_keys_than_arguments_are_refused() {
    let refused = arguments(&["eval", "return 1", "2", "k"]).unwrap_err();
    assert!(refused.contains("can't be greater"), "{refused}");
    let refused = arguments(&["eval", "return 1", "-1", "k"]).unwrap_err();
    assert!(refused.contains("negative"), "{refused}");
    let refused = arguments(&["eval", "return 1", "x", "k"]).unwrap_err();
    assert!(refused.contains("not an integer"), "{refused}");
    assert!(arguments(&["eval", "return 1", "9223372036854775807"]).is_err());
}

#[test]
fn flush_knows_two_modes() {
    let parse = |words: &[&str]| {
        let args: OwnedArgs = words.iter().collect();
        ScriptCommand::parse(CommandId::ScriptFlush, args.as_args()).is_ok()
    };
    assert!(parse(&["script", "flush"]));
    assert!(parse(&["script", "flush", "ASYNC"]));
    assert!(parse(&["script", "flush", "sync"]));
    assert!(!parse(&["script", "flush", "now"]));
    assert!(!parse(&["script", "flush", "sync", "sync"]));
}
