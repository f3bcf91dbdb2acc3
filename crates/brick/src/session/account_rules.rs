//! The rules of `ACL SETUSER` as words.
//!
//! In:  the words of a request. Out: rules, in their order, with passwords that are hashed elsewhere; or Redis's error.
//!
//! Invariant: an error never quotes a password.

use crate::effect::SetRule;
use brickyard_command::{CommandSet, ErrorReply};
use brickyard_metadata::{AccountRule, KeyPattern, Limited, TableGrant, UserLimits};

/// Longest password.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// Most passwords in one request: each takes 30 ms of a core.
const PASSWORDS_MAX: usize = 16;

/// Reads the rules.
pub(super) fn parse_rules<'a>(
    words: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<SetRule>, ErrorReply> {
    let mut rules = Vec::new();
    for word in words.filter(|word| !is_of_payloads(word)) {
        let rule = parse_rule(word).map_err(|why| {
            let shown = match word.first() {
                Some(secret @ (b'>' | b'<')) => format!("{}(redacted)", char::from(*secret)),
                _ => String::from_utf8_lossy(word).into_owned(),
            };
            ErrorReply::new(format!(
                "ERR Error in ACL SETUSER modifier '{shown}': {why}"
            ))
        })?;
        rules.push(rule);
    }
    let is_secret = |it: &&SetRule| !matches!(it, SetRule::Rule(_));
    if rules.iter().filter(is_secret).count() > PASSWORDS_MAX {
        return Err(ErrorReply::new(format!(
            "ERR ACL SETUSER takes {PASSWORDS_MAX} passwords at a time at most; give the others by another call"
        )));
    }
    Ok(rules)
}

/// Whether what RESTORE takes is looked through, which it always is: files of Redis's users have such words.
fn is_of_payloads(word: &[u8]) -> bool {
    [&b"sanitize-payload"[..], b"skip-sanitize-payload"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(word))
}

const UNKNOWN: &str = "Unknown command or category name in ACL";

fn parse_rule(word: &[u8]) -> Result<SetRule, &'static str> {
    if let [sign @ (b'>' | b'<'), password @ ..] = word {
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
            return Err("a password has 1 to 1024 bytes");
        }
        return Ok(match sign {
            b'>' => SetRule::AddPassword(password.to_vec()),
            _ => SetRule::RemovePassword(password.to_vec()),
        });
    }
    let rule = match word {
        [b'~', pattern @ ..] => keys(pattern, true, true),
        [b'%', rest @ ..] => {
            let at = rest
                .iter()
                .position(|it| *it == b'~')
                .ok_or("Syntax error")?;
            let has = |wanted: u8| rest[..at].iter().any(|it| it.eq_ignore_ascii_case(&wanted));
            let is_known = |it: &u8| matches!(it, b'R' | b'r' | b'W' | b'w');
            if at == 0 || !rest[..at].iter().all(is_known) {
                return Err("Syntax error");
            }
            keys(&rest[at + 1..], has(b'R'), has(b'W'))
        }
        [b'&', pattern @ ..] => AccountRule::Channels(pattern.to_vec()),
        [b'#', hash @ ..] => AccountRule::AddHash(hash_of(hash)?),
        [b'!', hash @ ..] => AccountRule::RemoveHash(hash_of(hash)?),
        [b'(', ..] => {
            return Err("selectors are not served here; make another user of the same rights");
        }
        _ => of_word(word)?,
    };
    Ok(SetRule::Rule(rule))
}

fn keys(pattern: &[u8], read: bool, write: bool) -> AccountRule {
    AccountRule::Keys(KeyPattern {
        pattern: pattern.to_vec(),
        read,
        write,
    })
}

/// A hash as `ACL GETUSER` shows it. Redis's are of SHA-256, by which passwords of people are found quickly.
fn hash_of(hash: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(hash).unwrap_or_default();
    let is_plain = text.bytes().all(|it| it.is_ascii_graphic()) && text.len() <= 512;
    match text.starts_with("$argon2") && is_plain {
        true => Ok(text.to_owned()),
        false => Err(
            "The password hash must be an Argon2 hash in PHC form ($argon2id$v=19$...), as `brickyard config hash-password` makes it",
        ),
    }
}

fn of_word(word: &[u8]) -> Result<AccountRule, &'static str> {
    let text = std::str::from_utf8(word).map_err(|_| "Syntax error")?;
    let lower = text.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "on" => AccountRule::On,
        "off" => AccountRule::Off,
        "nopass" => AccountRule::NoPassword,
        "resetpass" => AccountRule::ResetPasswords,
        "reset" => AccountRule::Reset,
        "allkeys" => AccountRule::Keys(KeyPattern::all()),
        "resetkeys" => AccountRule::ResetKeys,
        "allchannels" => AccountRule::Channels(b"*".to_vec()),
        "resetchannels" => AccountRule::ResetChannels,
        "allcommands" => AccountRule::Command("+@all".to_owned()),
        "nocommands" => AccountRule::Command("-@all".to_owned()),
        "alltables" => AccountRule::Tables(TableGrant::all()),
        "resettables" => AccountRule::ResetTables,
        _ if lower.starts_with("table:") => AccountRule::Tables(grant_of(&text["table:".len()..])?),
        "resetlimits" => AccountRule::ResetLimits,
        _ if lower.starts_with("limit:") => limit_of(&lower["limit:".len()..])?,
        _ if lower.starts_with(['+', '-']) => {
            let mut any = CommandSet::NONE;
            any.apply(&lower).map_err(|_| UNKNOWN)?;
            AccountRule::Command(lower)
        }
        _ => return Err("Syntax error"),
    })
}

/// `NAME=read,write,admin`
fn grant_of(text: &str) -> Result<TableGrant, &'static str> {
    const FORM: &str = "it is table:NAME=RIGHTS, where NAME is a table or a pattern such as shop-*, and RIGHTS some of read,write,admin";
    let (tables, words) = text.rsplit_once('=').ok_or(FORM)?;
    if tables.is_empty() || tables.contains(char::is_whitespace) {
        return Err(FORM);
    }
    let mut grant = TableGrant {
        tables: tables.to_owned(),
        read: false,
        write: false,
        admin: false,
    };
    for word in words.split(',') {
        match word.to_ascii_lowercase().as_str() {
            "read" => grant.read = true,
            "write" => grant.write = true,
            "admin" => grant.admin = true,
            _ => return Err(FORM),
        }
    }
    Ok(grant)
}

/// `connections=100`, `ops=100`, `bytes=100`
fn limit_of(text: &str) -> Result<AccountRule, &'static str> {
    const FORM: &str = "it is limit:connections=N, limit:ops=N or limit:bytes=N, of each node and the last two a second; 0 is no limit";
    let (what, most) = text.split_once('=').ok_or(FORM)?;
    let what = match what {
        "connections" => Limited::Connections,
        "ops" => Limited::Operations,
        "bytes" => Limited::Bytes,
        _ => return Err(FORM),
    };
    let is_number = !most.is_empty() && most.bytes().all(|it| it.is_ascii_digit());
    let most = most.parse().ok().filter(|_| is_number).ok_or(FORM)?;
    // Said here too, so that the error names the rule.
    UserLimits::default().set(what, most)?;
    Ok(AccountRule::Limit(what, most))
}

#[cfg(test)]
#[path = "account_rules_test.rs"]
mod account_rules_test;
