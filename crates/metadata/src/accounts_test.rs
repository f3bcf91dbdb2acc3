use super::*;
use crate::account::{KeyPattern, TableGrant};
use crate::fixture::cluster;
use crate::user_limits::Limited;
use crate::{Catalog, Change};

fn command(rule: &str) -> AccountRule {
    AccountRule::Command(rule.to_owned())
}

fn keys(pattern: &str, read: bool, write: bool) -> AccountRule {
    AccountRule::Keys(KeyPattern {
        pattern: pattern.as_bytes().to_vec(),
        read,
        write,
    })
}

fn set(catalog: &mut Catalog, name: &str, rules: Vec<AccountRule>) -> Result<(), Refusal> {
    let change = Change::SetAccount {
        name: name.to_owned(),
        initial: Vec::new(),
        rules,
    };
    catalog.apply(change).map(|_| ())
}

#[test]
fn rules_count_in_their_order_and_a_later_one_takes_an_earlier_ones_place() {
    let mut catalog = cluster(1, 1);
    let rules = [
        "+get",
        "+config|get",
        "-config|set",
        "+@read",
        "-get",
        "+config",
    ];
    set(&mut catalog, "ann", rules.map(command).to_vec()).unwrap();
    let commands = |catalog: &Catalog| catalog.accounts().get("ann").unwrap().commands.join(" ");
    assert_eq!(commands(&catalog), "-@all +@read -get +config");
    set(&mut catalog, "ann", vec![command("+@all"), command("-get")]).unwrap();
    assert_eq!(commands(&catalog), "+@all -get");
}

#[test]
fn change_with_a_rule_that_cannot_be_changes_nothing() {
    let mut catalog = cluster(1, 1);
    set(
        &mut catalog,
        "ann",
        vec![AccountRule::On, keys("*", true, true)],
    )
    .unwrap();
    let before = catalog.clone();
    let cases = [
        vec![AccountRule::Off, keys("a:*", true, true)],
        vec![AccountRule::Off, AccountRule::RemoveHash("none".to_owned())],
        vec![
            AccountRule::Off,
            AccountRule::Tables(TableGrant {
                admin: false,
                ..TableGrant::all()
            }),
        ],
        vec![AccountRule::Off, keys(&"x".repeat(70_000), true, true)],
    ];
    for rules in cases {
        assert!(set(&mut catalog, "ann", rules).is_err());
        assert_eq!(catalog, before);
    }
    assert!(set(&mut catalog, "a b", vec![]).is_err());
    assert!(set(&mut catalog, "", vec![]).is_err());
}

#[test]
fn passwords_come_and_go_and_none_is_needed_only_where_that_was_said() {
    let mut catalog = cluster(1, 1);
    let hash = || "$argon2id$x".to_owned();
    let of = |catalog: &Catalog| {
        let ann = catalog.accounts().get("ann").unwrap();
        (ann.needs_no_password, ann.password_hashes.len())
    };
    let steps = [
        (vec![], (false, 0)),
        (vec![AccountRule::NoPassword], (true, 0)),
        (vec![AccountRule::AddHash(hash())], (false, 1)),
        (vec![AccountRule::AddHash(hash())], (false, 1)),
        (vec![AccountRule::RemoveHash(hash())], (false, 0)),
        (
            vec![AccountRule::NoPassword, AccountRule::ResetPasswords],
            (false, 0),
        ),
    ];
    for (rules, expected) in steps {
        set(&mut catalog, "ann", rules).unwrap();
        assert_eq!(of(&catalog), expected);
    }
}

#[test]
fn patterns_of_keys_add_up_and_those_of_tables_are_replaced() {
    let mut catalog = cluster(1, 1);
    let grant = |write| {
        AccountRule::Tables(TableGrant {
            tables: "shop".to_owned(),
            read: true,
            write,
            admin: false,
        })
    };
    let rules = vec![
        keys("a", true, false),
        keys("a", false, true),
        AccountRule::ResetTables,
        grant(true),
        grant(false),
    ];
    set(&mut catalog, "ann", rules).unwrap();
    let ann = catalog.accounts().get("ann").unwrap();
    assert_eq!(ann.keys.len(), 1);
    assert!(ann.keys[0].read && ann.keys[0].write);
    assert_eq!(ann.tables.len(), 1);
    assert!(!ann.tables[0].write);
    set(&mut catalog, "ann", vec![AccountRule::Reset]).unwrap();
    let ann = catalog.accounts().get("ann").unwrap();
    assert_eq!(*ann, Account::default());
}

#[test]
fn first_rules_are_for_a_user_that_is_new() {
    let mut catalog = cluster(1, 1);
    let change = |rules| Change::SetAccount {
        name: "default".to_owned(),
        initial: vec![AccountRule::On, AccountRule::NoPassword, command("+@all")],
        rules,
    };
    catalog.apply(change(vec![command("-get")])).unwrap();
    catalog.apply(change(vec![AccountRule::Off])).unwrap();
    let user = catalog.accounts().get("default").unwrap();
    assert!(!user.is_on && user.needs_no_password);
    assert_eq!(user.commands.join(" "), "+@all -get");
}

#[test]
fn catalog_with_users_is_read_as_it_was_written_and_without_them_as_ever() {
    let mut catalog = cluster(2, 1);
    let without = catalog.encode();
    set(
        &mut catalog,
        "ann",
        vec![AccountRule::On, keys("*", true, true)],
    )
    .unwrap();
    let with = catalog.encode();
    assert_eq!(Catalog::decode(&with).unwrap(), catalog);
    assert_eq!((without[8], with[8]), (1, 2));
    let names = vec!["ann".to_owned(), "nobody".to_owned()];
    let change = Change::DropAccounts { names };
    let before = catalog.version();
    assert_eq!(
        catalog.apply(change.clone()).unwrap().version,
        before.next()
    );
    assert_eq!(catalog.encode()[8], 1);
    assert_eq!(catalog.apply(change).unwrap().version, before.next());
    for len in 0..with.len() {
        assert!(Catalog::decode(&with[..len]).is_err());
    }
}

#[test]
fn limits_are_what_was_said_last_and_go_with_the_rest() {
    let mut catalog = cluster(1, 1);
    let of = |catalog: &Catalog| {
        let limits = catalog.accounts().get("ann").unwrap().limits;
        (limits.connections, limits.operations, limits.bytes)
    };
    let limit = AccountRule::Limit;
    for (rules, expected) in [
        (vec![], (0, 0, 0)),
        (vec![limit(Limited::Operations, 7)], (0, 7, 0)),
        (vec![limit(Limited::Bytes, 8)], (0, 7, 8)),
        (
            vec![
                limit(Limited::Connections, 1),
                limit(Limited::Connections, 9),
            ],
            (9, 7, 8),
        ),
        (vec![limit(Limited::Operations, 0)], (9, 0, 8)),
        (vec![AccountRule::ResetLimits], (0, 0, 0)),
        (
            vec![limit(Limited::Bytes, 10_000_000_000)],
            (0, 0, 10_000_000_000),
        ),
        (vec![AccountRule::Reset], (0, 0, 0)),
    ] {
        set(&mut catalog, "ann", rules).unwrap();
        assert_eq!(of(&catalog), expected);
    }
    let before = catalog.clone();
    for rule in [
        limit(Limited::Connections, 1_000_001),
        limit(Limited::Operations, 10_000_001),
        limit(Limited::Bytes, u64::MAX),
    ] {
        let refused = set(&mut catalog, "ann", vec![AccountRule::On, rule]).unwrap_err();
        assert!(refused.to_string().contains("at most; 0 is no limit"));
        assert_eq!(catalog, before);
    }
}
