use super::*;
use crate::args::OwnedArgs;
use std::collections::BTreeSet;

fn all_specs() -> impl Iterator<Item = &'static Spec> {
    COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
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
        let words = vec!["0"; shortest];
        let args: OwnedArgs = words.iter().collect();
        let keys = spec.key_specs.iter();
        for keys in keys.filter(|it| it.flags & key_flag::NOT_KEY == 0) {
            assert!(keys.positions(args.as_args()).is_some(), "{}", spec.name);
        }
    }
}
