//! Who may do what: users, their rights and the table each starts in.

use std::collections::BTreeMap;
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
        }
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

/// All users of a node.
#[derive(Clone, Debug, Default)]
pub struct Users {
    by_name: BTreeMap<String, Arc<User>>,
}

impl Users {
    /// These users; with none, `default` may do everything without a password.
    #[must_use]
    pub fn new(users: Vec<User>) -> Self {
        let users = if users.is_empty() {
            vec![User::unrestricted()]
        } else {
            users
        };
        let by_name: BTreeMap<_, _> = users
            .into_iter()
            .map(|user| (user.name.clone(), Arc::new(user)))
            .collect();
        Self { by_name }
    }

    /// The user of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    /// Whom a new connection acts for before `AUTH`: `default`, if that needs no password.
    #[must_use]
    pub fn anonymous(&self) -> Option<&Arc<User>> {
        self.by_name
            .get("default")
            .filter(|user| user.password_hashes.is_empty())
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
