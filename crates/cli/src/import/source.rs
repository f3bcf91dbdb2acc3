//! The server that is copied: its address, and what it says of itself.
//!
//! In:  a URL. Out: a [`Source`].

use anyhow::{Context, bail, ensure};
use brickyard_bench::{Link, Target};
use brickyard_tls::{Dialer, DialerFiles};
use std::{env, path::PathBuf};

/// Where a password may stand that is not to be seen in a list of processes.
const PASSWORD: &str = "BRICKYARD_SOURCE_PASSWORD";

/// A Redis or Valkey.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) target: Target,
    /// It knows PEXPIRETIME: a time of expiry is read to the millisecond.
    pub(crate) has_expire_time: bool,
    /// What it calls itself.
    pub(crate) version: String,
    /// The server that it copies, if it is a replica.
    primary: Option<String>,
}

/// Whether the text names a server, and not a file.
pub(crate) fn is_url(text: &str) -> bool {
    text.contains("://")
}

impl Source {
    pub(crate) fn address(&self) -> &str {
        &self.target.address
    }

    /// Finds out who answers at the URL.
    pub(crate) fn find(url: &str, authority: Option<PathBuf>) -> anyhow::Result<Self> {
        let target = parse(url, authority)?;
        let address = target.address.clone();
        let mut link = Link::open(&target)?;
        let reply = link.call(&["INFO"])?;
        if let Some(text) = reply.error() {
            let text = String::from_utf8_lossy(text);
            bail!(
                "{address} refused INFO: {text}; the user that imports needs the rules \
                 `+@read +@connection +info +psync +replconf +client|pause +client|unpause +multi +exec +command ~*`"
            );
        }
        let info = String::from_utf8_lossy(reply.bytes().unwrap_or_default()).into_owned();
        ensure!(
            !info.to_ascii_lowercase().contains("brickyard"),
            "{address} is a Brickyard, which has no replication stream; move its tables with `brickyard backup`, or with \
             `brickyard dump --from {address} | brickyard load -`"
        );
        let version = field(&info, "redis_version").unwrap_or("0").to_owned();
        let major: u32 = version
            .split('.')
            .next()
            .unwrap_or_default()
            .parse()
            .unwrap_or(0);
        if field(&info, "cluster_enabled") == Some("1") {
            eprintln!(
                "{address} is one node of a Redis Cluster: only the slots that it has are copied. Import each primary by \
                 itself, with --merge from the second one on"
            );
        }
        let valkey = field(&info, "valkey_version");
        Ok(Self {
            target,
            has_expire_time: major >= 7,
            version: valkey.map_or_else(|| format!("Redis {version}"), |it| format!("Valkey {it}")),
            primary: primary_of(&info),
        })
    }

    /// Refuses a replica: clients write to its primary, where nobody would hold them up at the hand-over.
    pub(crate) fn must_be_primary(&self) -> anyhow::Result<()> {
        match &self.primary {
            None => Ok(()),
            Some(primary) => bail!(
                "{} is a replica of {primary}, where clients write: they cannot be held up from here, so that a hand-over would \
                 lose what they write meanwhile; import from {primary}",
                self.address()
            ),
        }
    }
}

/// Whom a replica copies, by its INFO.
pub(crate) fn primary_of(info: &str) -> Option<String> {
    let name = |field: Option<&str>| field.unwrap_or("?").to_owned();
    (field(info, "role")? != "master").then(|| {
        let [host, port] = ["master_host", "master_port"].map(|it| name(field(info, it)));
        format!("{host}:{port}")
    })
}

/// A line of INFO.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| {
        let (found, value) = line.trim_end().split_once(':')?;
        (found == name).then_some(value)
    })
}

fn parse(url: &str, authority: Option<PathBuf>) -> anyhow::Result<Target> {
    const FORM: &str = "a source is redis://[[USER]:PASSWORD@]HOST[:PORT], or rediss:// under TLS";
    let (scheme, rest) = url.split_once("://").context(FORM)?;
    let is_secure = match scheme {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => bail!("{scheme}:// is not known; {FORM}"),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    ensure!(
        !rest.contains('/'),
        "the URL names a database; database 0 goes to --table, and others by --database N=TABLE"
    );
    let (who, address) = match rest.rsplit_once('@') {
        Some((who, address)) => (Some(who), address),
        None => (None, rest),
    };
    ensure!(!address.is_empty(), "the URL names no host; {FORM}");
    let (user, password) = match who.map(|it| it.split_once(':').unwrap_or((it, ""))) {
        Some((user, password)) => (Some(decoded(user)?), Some(decoded(password)?)),
        None => (None, None),
    };
    let tls = match (is_secure, authority) {
        (true, Some(authority)) => Some(Dialer::read(DialerFiles {
            authority,
            identity: None,
        })?),
        (true, None) => {
            bail!("{scheme}:// is TLS: name with --source-ca whose certificates to believe")
        }
        (false, Some(_)) => {
            bail!("--source-ca is about TLS, and {scheme}:// is in the clear; write rediss://")
        }
        (false, None) => None,
    };
    Ok(Target {
        user: user.filter(|it| !it.is_empty()),
        password: password
            .filter(|it| !it.is_empty())
            .or_else(|| env::var(PASSWORD).ok()),
        tls,
        ..Target::resp(crate::target::with_port(address))
    })
}

/// The text that %XX stand for.
fn decoded(text: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let byte = part.get(..2).and_then(|it| u8::from_str_radix(it, 16).ok());
        bytes.push(byte.context("a % in the URL is not followed by two hexadecimal digits")?);
        bytes.extend(part.bytes().skip(2));
    }
    String::from_utf8(bytes).context("the URL has bytes that are no text")
}

#[cfg(test)]
mod source_test {
    use super::parse;

    #[test]
    fn url_says_where_and_who() {
        let target = parse("redis://ann:p%40ss@old", None).unwrap();
        assert_eq!(target.address, "old:6379");
        assert_eq!(target.user.as_deref(), Some("ann"));
        assert_eq!(target.password.as_deref(), Some("p@ss"));
        let target = parse("valkey://:word@127.0.0.1:7000/", None).unwrap();
        assert_eq!(
            (target.user, target.password.as_deref()),
            (None, Some("word"))
        );
    }

    #[test]
    fn other_urls_are_told_what_is_wrong() {
        for (url, what) in [
            ("http://old", "not known"),
            ("redis://old/3", "--database"),
            ("rediss://old", "--source-ca"),
            ("redis://", "no host"),
            ("redis://%zz@old", "hexadecimal"),
        ] {
            let told = parse(url, None).unwrap_err().to_string();
            assert!(told.contains(what), "{url}: {told}");
        }
    }
}
