//! Who may do what: users, their rights and the table each starts in.

use crate::acl::Acl;
use brickyard_metadata::{Account, Accounts, UserLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a user may do to a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// May read keys and values.
    pub read: bool,
    /// May change keys and values.
    pub write: bool,
    /// May make, alter and drop tables, flush them, and run the node's own commands.
    pub admin: bool,
}

impl Rights {
    /// Everything.
    pub const ALL: Self = Self {
        read: true,
        write: true,
        admin: true,
    };

    /// Whether all of `wanted` is granted.
    #[must_use]
    pub const fn covers(self, wanted: Self) -> bool {
        (self.read || !wanted.read)
            && (self.write || !wanted.write)
            && (self.admin || !wanted.admin)
    }
}

/// Rights on the tables whose name matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// A table's name, or a glob such as `shop-*`.
    pub tables: String,
    /// What is granted there.
    pub rights: Rights,
}

/// One user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name that `AUTH` takes.
    pub name: String,
    /// Hashes (PHC strings) of passwords that are accepted; checked by the control thread. Empty:
    /// no password is needed.
    pub password_hashes: Vec<String>,
    /// Rights, added up over all grants that match a table.
    pub grants: Vec<Grant>,
    /// The table that the user's connections start in; `None`: `default`.
    pub table: Option<String>,
    /// Which commands it may run, on which keys.
    pub acl: Acl,
    /// How much of the node it may take.
    pub limits: UserLimits,
}

impl User {
    /// The user of a node that has no users configured: anybody, everything.
    #[must_use]
    pub fn unrestricted() -> Self {
        Self {
            name: "default".to_owned(),
            password_hashes: Vec::new(),
            grants: vec![Grant {
                tables: "*".to_owned(),
                rights: Rights::ALL,
            }],
            table: None,
            acl: Acl::unrestricted(),
            limits: UserLimits::NONE,
        }
    }

    /// A user that the cluster keeps.
    fn kept(name: &str, account: &Account) -> Self {
        let grants = account.tables.iter().map(|it| Grant {
            tables: it.tables.clone(),
            rights: Rights {
                read: it.read,
                write: it.write,
                admin: it.admin,
            },
        });
        Self {
            name: name.to_owned(),
            password_hashes: account.password_hashes.clone(),
            grants: grants.collect(),
            table: None,
            acl: Acl::of(account),
            limits: account.limits,
        }
    }

    /// Whether it is let in whatever it gives for a password.
    #[must_use]
    pub const fn needs_no_password(&self) -> bool {
        self.password_hashes.is_empty() && !self.acl.needs_password
    }

    /// Whether the user may run commands that are about the whole node: an administrator of every
    /// table, present and to come.
    #[must_use]
    pub fn administers_node(&self) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.tables == "*" && grant.rights.admin)
    }

    /// What the user may do to `table`.
    #[must_use]
    pub fn rights(&self, table: &str) -> Rights {
        let mut sum = Rights::default();
        for grant in &self.grants {
            if matches(&grant.tables, table) {
                sum.read |= grant.rights.read;
                sum.write |= grant.rights.write;
                sum.admin |= grant.rights.admin;
            }
        }
        sum
    }
}

/// All users of a node: those of its configuration file, and beside them those that the cluster keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    by_name: BTreeMap<String, Arc<User>>,
    in_file: BTreeSet<String>,
}

impl Users {
    /// These users; with none, `default` may do everything without a password.
    #[must_use]
    pub fn new(users: Vec<User>) -> Self {
        let in_file = users.iter().map(|user| user.name.clone()).collect();
        let users = if users.is_empty() {
            vec![User::unrestricted()]
        } else {
            users
        };
        let by_name: BTreeMap<_, _> = users
            .into_iter()
            .map(|user| (user.name.clone(), Arc::new(user)))
            .collect();
        Self { by_name, in_file }
    }

    /// These, and those that the cluster keeps under other names. `default` of a node without users is changed by the cluster's.
    #[must_use]
    pub fn with_accounts(&self, accounts: &Accounts) -> Self {
        let mut users = self.clone();
        for (name, account) in accounts.iter() {
            if !self.in_file.contains(name) {
                let user = Arc::new(User::kept(name, account));
                users.by_name.insert(name.to_owned(), user);
            }
        }
        users
    }

    /// Whether the configuration file has that user.
    #[must_use]
    pub fn is_in_file(&self, name: &str) -> bool {
        self.in_file.contains(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.by_name.values()
    }

    /// The user of that name, if it may log in.
    #[must_use]
    pub fn find_on(&self, name: &str) -> Option<&Arc<User>> {
        self.find(name).filter(|user| user.acl.is_on)
    }

    /// The user of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    /// Whom a new connection acts for before `AUTH`: `default`, if that needs no password.
    #[must_use]
    pub fn anonymous(&self) -> Option<&Arc<User>> {
        self.find_on("default")
            .filter(|user| user.needs_no_password())
    }
}

/// Whether a table's name fits a pattern, in which `*` stands for any run of characters. (Names have
/// no other character that a glob would know.)
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(head) else {
        return false;
    };
    (0..=name.len()).any(|at| name.is_char_boundary(at) && matches(rest, &name[at..]))
}

#[cfg(test)]
mod users_test {
    use super::*;

    #[test]
    fn pattern_covers_whole_names() {
        assert!(matches("*", "default"));
        assert!(matches("shop-*", "shop-"));
        assert!(matches("*-eu-*", "shop-eu-1"));
        assert!(!matches("shop-*", "workshop-1"));
        assert!(!matches("shop", "shop-1"));
    }

    #[test]
    fn rights_of_all_matching_grants_add_up() {
        let read = Rights {
            read: true,
            ..Rights::default()
        };
        let write = Rights {
            write: true,
            ..Rights::default()
        };
        let grant = |tables: &str, rights| Grant {
            tables: tables.to_owned(),
            rights,
        };
        let user = User {
            grants: vec![grant("*", read), grant("cart", write)],
            ..User::unrestricted()
        };
        assert_eq!(
            user.rights("cart"),
            Rights {
                read: true,
                write: true,
                admin: false
            }
        );
        assert_eq!(user.rights("other"), read);
        assert!(!user.rights("other").covers(write));
    }

    #[test]
    fn node_without_users_lets_anybody_in_and_one_with_users_does_not() {
        assert!(Users::new(Vec::new()).anonymous().is_some());
        let locked = User {
            password_hashes: vec!["$argon2id$...".to_owned()],
            ..User::unrestricted()
        };
        assert!(Users::new(vec![locked]).anonymous().is_none());
    }
}
