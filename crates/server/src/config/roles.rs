//! What a node is used for: `storage,control`.

use super::text::{ConfigValue, quoted};
use brickyard_metadata::Roles;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeRoles(pub Roles);

const NONE: Roles = Roles {
    storage: false,
    control: false,
    gateway: false,
};

impl ConfigValue for NodeRoles {
    fn parse(text: &str) -> Result<Self, String> {
        let mut roles = NONE;
        for word in text.split(',').map(str::trim) {
            match word.to_ascii_lowercase().as_str() {
                "storage" => roles.storage = true,
                "control" => roles.control = true,
                "gateway" => roles.gateway = true,
                _ => return Err("one or more of storage, control, gateway".to_owned()),
            }
        }
        Ok(Self(roles))
    }

    fn toml(&self) -> String {
        quoted(&self.0.words().join(","))
    }
}

#[cfg(test)]
#[path = "roles_test.rs"]
mod roles_test;
