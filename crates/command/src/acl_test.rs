use super::*;
use crate::args::OwnedArgs;
use crate::resolve;

fn set(rules: &str) -> CommandSet {
    let mut set = CommandSet::NONE;
    for rule in rules.split(' ') {
        set.apply(rule).unwrap();
    }
    set
}

#[test]
fn rules_count_in_their_order() {
    let allowed = |rules: &str, command: &str| {
        let spec = lookup_full(command.as_bytes()).unwrap();
        set(rules).has(spec.id)
    };
    assert!(allowed("+@all", "get"));
    assert!(!allowed("+@all -get", "get"));
    assert!(allowed("-get +@read", "get"));
    assert!(!allowed("+@read -GET", "get"));
    assert!(allowed("+config|get", "config|get"));
    assert!(!allowed("+config|get", "config|set"));
    assert!(allowed("+config", "config|set"));
    assert!(!allowed("+config -config|set", "config|set"));
    assert!(allowed("+@all -@dangerous", "get"));
    assert!(!allowed("+@all -@dangerous", "acl|setuser"));
    assert!(allowed("+@all -@list", "get"), "a category of none");
    assert!(!allowed("+@write", "get"));
}

#[test]
fn rule_that_names_nothing_is_refused() {
    for rule in [
        "get",
        "",
        "+",
        "+nothing",
        "+@nothing",
        "+get|it",
        "-config|nothing",
    ] {
        let mut set = CommandSet::NONE;
        assert_eq!(set.apply(rule), Err(UnknownCommand), "{rule}");
    }
}

#[test]
fn every_command_has_a_category_that_is_listed() {
    let listed = CATEGORIES.iter().fold(0, |bits, (_, bit)| bits | bit);
    for spec in &COMMANDS {
        assert!(spec.categories & listed != 0, "{}", spec.name);
    }
    assert!(of_category(b"READ").unwrap().any(|it| it.name == "get"));
    assert!(of_category(b"geo").unwrap().next().is_none());
    assert!(of_category(b"none").is_none());
}

#[test]
fn keys_are_needed_for_what_the_request_does_with_them() {
    let used = |line: &str| -> String {
        let args: OwnedArgs = line.split(' ').collect();
        let spec = resolve(args.as_args()).unwrap();
        let uses = keys_used(spec, args.as_args());
        let shown = uses.map(|(key, it)| {
            let key = String::from_utf8_lossy(key).into_owned();
            format!("{key}:{}{}", u8::from(it.is_read), u8::from(it.is_written))
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(used("GET a"), "a:10");
    assert_eq!(used("SET a get"), "a:01");
    assert_eq!(used("SET a v GET"), "a:11");
    assert_eq!(used("SET a v IFEQ x"), "a:11");
    assert_eq!(used("MSET a 1 b 2"), "a:01 b:01");
    assert_eq!(used("COPY a b"), "a:10 b:01");
    assert_eq!(used("RENAME a b"), "a:11 b:01");
    assert_eq!(used("EXISTS a"), "a:00");
    assert_eq!(used("GETDEL a"), "a:11");
    assert_eq!(used("BITFIELD a GET u8 0"), "a:10");
    assert_eq!(used("BITFIELD a INCRBY u8 0 1"), "a:11");
    assert_eq!(used("OBJECT ENCODING a"), "a:00");
}
