//! Which replies must be the same bytes, and the few that two correct servers may answer differently.
//!
//! Errors are always compared exactly: a [`Rule`] other than [`Rule::Ignored`] only loosens what two
//! replies that are no errors must share.

use crate::value::Value;

/// How two replies to one command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Byte for byte.
    Exact,
    /// Two positive numbers may be this far apart: the clock went on between the two servers.
    Near(i64),
    /// The same items in any order: no order is promised.
    Unordered,
    /// The same pairs, one item after the other, in any order.
    Pairs,
    /// The same kind of reply: what it says is about the server itself.
    Kind,
    /// A map in which these fields are the same; the others are about the server itself.
    Fields(&'static [&'static str]),
    /// Not compared at all.
    Ignored,
}

/// The rule for a request.
#[must_use]
pub fn rule(arguments: &[Vec<u8>]) -> Rule {
    let word = |index: usize| -> String {
        let bytes = arguments.get(index).map_or(&b""[..], Vec::as_slice);
        String::from_utf8_lossy(bytes).to_ascii_uppercase()
    };
    match (word(0).as_str(), word(1).as_str()) {
        ("TTL" | "EXPIRETIME", _) => Rule::Near(2),
        ("PTTL" | "PEXPIRETIME", _) => Rule::Near(2_000),
        // Hash tables have no order; ours go by routing hash, theirs by bucket.
        ("KEYS", _) | ("CLUSTER", "GETKEYSINSLOT") | ("HKEYS" | "HVALS", _) => Rule::Unordered,
        ("HGETALL", _) => Rule::Pairs,
        // What is drawn at random; and Redis returns large fields in its own order.
        ("HRANDFIELD" | "HSCAN", _) => Rule::Kind,
        // Redis's answer tells the history of an allocation (fresh values are compared in a test of their
        // own), shared small integers, and the idle clock of another process.
        ("OBJECT", "ENCODING" | "REFCOUNT" | "IDLETIME" | "HELP") => Rule::Kind,
        // Another allocator, another layout.
        ("MEMORY", "USAGE") => Rule::Kind,
        // Cursors are each server's own; whole iterations are compared as a step of their own.
        ("SCAN", _) => Rule::Kind,
        // Name, version, id and modules are each server's own.
        ("HELLO", _) => Rule::Fields(&["proto", "role", "mode"]),
        // Clocks, process ids, addresses, counters.
        ("TIME" | "LASTSAVE" | "INFO", _)
        | ("CLIENT", "ID" | "INFO" | "LIST")
        | ("CLUSTER", "INFO" | "MYID" | "SLOTS" | "SHARDS" | "NODES")
        | ("SLOWLOG", "GET" | "LEN")
        // Ours knows fewer commands.
        | ("COMMAND", "" | "COUNT" | "LIST" | "DOCS" | "INFO") => Rule::Kind,
        // Each server's default differs; the names that come back are compared in their own test.
        ("CONFIG", "GET") => Rule::Kind,
        _ => Rule::Exact,
    }
}

/// Whether two replies break the rule.
#[must_use]
pub fn differs(rule: Rule, reference: &Value, ours: &Value) -> bool {
    if rule == Rule::Ignored {
        return false;
    }
    if reference.is_error() || ours.is_error() {
        return reference != ours;
    }
    match rule {
        Rule::Exact | Rule::Ignored => reference != ours,
        Rule::Near(tolerance) => match (reference.as_integer(), ours.as_integer()) {
            (Some(a), Some(b)) if a > 0 && b > 0 => (a - b).abs() > tolerance,
            _ => reference != ours,
        },
        Rule::Unordered => sorted(reference) != sorted(ours),
        Rule::Pairs => {
            reference.kind() != ours.kind() || sorted_pairs(reference) != sorted_pairs(ours)
        }
        Rule::Kind => reference.kind() != ours.kind(),
        Rule::Fields(names) => {
            reference.kind() != ours.kind()
                || names
                    .iter()
                    .any(|name| field(reference, name) != field(ours, name))
        }
    }
}

/// Whether two replies to `EXEC` differ that are not both lists of as many replies.
///
/// At a brick's port a transaction that is wrong in two ways (a command was refused, and its keys are in several
/// slots) is discarded either way; Redis names the second reason, ours the first.
#[must_use]
pub fn transaction_differs(reference: &Value, ours: &Value) -> bool {
    let is_wrong_twice = reference.is_error_with("CROSSSLOT") && ours.is_error_with("EXECABORT");
    reference != ours && !is_wrong_twice
}

fn sorted(value: &Value) -> Option<Vec<Value>> {
    let mut items = value.items()?.to_vec();
    items.sort();
    Some(items)
}

fn sorted_pairs(value: &Value) -> Option<Vec<(Value, Value)>> {
    let mut pairs = value.pairs()?;
    pairs.sort();
    Some(pairs)
}

fn field(value: &Value, name: &str) -> Option<Value> {
    let pairs = value.pairs()?;
    pairs
        .into_iter()
        .find(|(key, _)| key.text() == name)
        .map(|(_, value)| value)
}
