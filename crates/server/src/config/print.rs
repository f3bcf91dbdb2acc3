//! The whole configuration as commented TOML that can be used as a file again.

use super::fields::FIELDS;
use super::source::Origin;
use super::{Config, Loaded};
use std::fmt::Write as _;

const WIDTH: usize = 96;

const HEAD: &str = "\
# Brickyard's configuration. Each field has its unit, where its value came from, and its reason.
# Later sources win: defaults, this file, environment BRICKYARD_<FIELD>, flags --<field>.
";

const USER_EXAMPLE: &str = "\
# Users: with none, everyone who reaches the port may do everything. The name `default` is for
# clients that send a password alone. Make hashes with `brickyard config hash-password`.
#
# [[user]]
# name = \"shop\"
# password_hash = \"$argon2id$v=19$m=19456,t=2,p=1$...\"
# table = \"orders\"             # the table its connections start in
# read = [\"*\"]                 # names of tables, or patterns
# write = [\"orders\", \"cart*\"]
# admin = []                    # create, alter, drop tables; \"*\": the whole node
";

/// Renders `loaded`, every field with value, unit, origin and reason.
#[must_use]
pub fn print(loaded: &Loaded) -> String {
    let mut out = HEAD.to_owned();
    let Config { fields, users, .. } = &loaded.config;
    let mut section = "";
    for field in FIELDS {
        if field.section != section {
            section = field.section;
            let _ = write!(out, "\n# ---- {section} ----\n");
        }
        let origin = loaded.origins.get(field.name).unwrap_or(&Origin::Default);
        out.push('\n');
        wrap(&mut out, field.reason);
        let _ = writeln!(out, "# Unit: {}. Origin: {origin}.", field.unit);
        let _ = writeln!(out, "{} = {}", field.name, field.toml(fields));
    }
    let _ = write!(out, "\n# ---- Users ----\n\n{USER_EXAMPLE}");
    for user in users {
        let _ = write!(out, "\n# Origin: {}.\n{}", user.origin, user.toml());
    }
    out
}

fn wrap(out: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        if column == 0 {
            out.push('#');
            column = 1;
        } else if column + 1 + word.len() > WIDTH {
            out.push_str("\n#");
            column = 1;
        }
        out.push(' ');
        out.push_str(word);
        column += 1 + word.len();
    }
    out.push('\n');
}
