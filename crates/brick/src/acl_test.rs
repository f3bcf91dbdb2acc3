use super::*;
use brickyard_command::{OwnedArgs, resolve};

fn lacking(acl: &Acl, line: &str) -> Option<Lacking> {
    let args: OwnedArgs = line.split(' ').collect();
    let spec = resolve(args.as_args()).unwrap();
    acl.lacking(spec, args.as_args())
}

fn acl(commands: &str, keys: &[(&str, bool, bool)]) -> Acl {
    let keys = keys.iter().map(|(pattern, read, write)| KeyPattern {
        pattern: pattern.as_bytes().to_vec(),
        read: *read,
        write: *write,
    });
    Acl::of(&Account {
        commands: commands.split(' ').map(str::to_owned).collect(),
        keys: keys.collect(),
        ..Account::default()
    })
}

#[test]
fn command_and_every_key_must_be_granted() {
    let it = acl(
        "-@all +@read +mset",
        &[("a:*", true, true), ("r:*", true, false)],
    );
    assert!(!it.may_all());
    assert_eq!(lacking(&it, "GET a:1"), None);
    assert_eq!(lacking(&it, "GET r:1"), None);
    assert_eq!(lacking(&it, "SET a:1 v"), Some(Lacking::Command("set")));
    assert_eq!(lacking(&it, "GET b:1"), Some(Lacking::Key(b"b:1".to_vec())));
    assert_eq!(
        lacking(&it, "MSET a:1 v r:1 v"),
        Some(Lacking::Key(b"r:1".to_vec()))
    );
    assert_eq!(lacking(&it, "MGET a:1 r:1"), None);
    assert_eq!(lacking(&it, "AUTH x"), None, "anybody may log in");
}

#[test]
fn user_that_may_all_is_known_as_such_and_a_new_one_may_nothing() {
    let all = acl("+@all", &[("*", true, true)]);
    assert!(all.may_all());
    assert_eq!(lacking(&all, "SET k v"), None);
    let new = Acl::of(&Account::default());
    assert_eq!(lacking(&new, "GET k"), Some(Lacking::Command("get")));
    assert!(!new.is_on && new.needs_password);
    let no_keys = acl("+@all", &[]);
    assert_eq!(
        lacking(&no_keys, "GET k"),
        Some(Lacking::Key(b"k".to_vec()))
    );
    assert_eq!(lacking(&no_keys, "PING"), None);
}
