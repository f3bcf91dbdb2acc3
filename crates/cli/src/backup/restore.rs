//! A backup into a table, of any cluster.
//!
//! The table need not have the partitions, bricks or replicas of the one that was backed up: records go in by their
//! keys, through the client library.

use crate::load::{
    record::{Expiry, Record},
    tally::Tally,
    writer::{Options, Stopped, Writer},
};
use anyhow::{Context, bail, ensure};
use brickyard_backup::{Manifest, Repository, each_row};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;

/// Makes the table as it was, unless it is there; what is in it already stays only if `merges`.
pub(crate) fn prepare(
    target: &Target,
    table: &str,
    manifest: &Manifest,
    merges: bool,
) -> anyhow::Result<()> {
    let node = Target {
        table: None,
        ..target.clone()
    };
    let mut link = Link::open(&node)?;
    let described = link.call(&["TABLE", "DESCRIBE", table])?;
    if described.error().is_some() {
        let mut request = vec!["TABLE".to_owned(), "CREATE".to_owned(), table.to_owned()];
        for (name, value) in &manifest.attributes {
            request.extend([name.to_uppercase(), value.clone()]);
        }
        if let Value::Error(text) = link.call(&request)? {
            bail!(
                "the table '{table}' is not there and could not be made as it was ({}): {}; make it yourself with \
                 \"brickyard table create\"",
                request[3..].join(" "),
                String::from_utf8_lossy(&text)
            );
        }
        return Ok(());
    }
    let mut link = Link::open(&Target {
        table: Some(table.to_owned()),
        ..target.clone()
    })?;
    let size = link.call(&["DBSIZE"])?;
    let keys = size
        .integer()
        .with_context(|| format!("table '{table}' does not say how many keys it has: {size:?}"))?;
    ensure!(
        keys == 0 || merges,
        "table '{table}' has {keys} keys; restore into an empty table, or say --merge to write over what has the same key \
         and keep the rest"
    );
    Ok(())
}

/// Writes all records; what became of them.
pub(crate) fn restore(
    repository: &Repository,
    manifest: &Manifest,
    options: &Options,
    mut on_part: impl FnMut(u64),
) -> anyhow::Result<Tally> {
    let mut writer = Writer::open(options)?;
    let mut tally = Tally::default();
    let mut line = 0;
    let mut read = Ok(());
    for part in &manifest.parts {
        read = each_row(repository, manifest, part, |row| {
            line += 1;
            let record = Record {
                key: row.key,
                value: row.value.unwrap_or_default(),
                is_payload: row.is_payload,
                expiry: row.expires_at.map(Expiry::At),
                line,
            };
            match writer.write(record) {
                Ok(()) => Ok(()),
                Err(Stopped) => bail!("writing ended"),
            }
        })
        .with_context(|| format!("partition {} of backup {}", part.partition, manifest.name));
        if read.is_err() {
            break;
        }
        on_part(writer.stored());
    }
    // Why writing ended goes before the reading that it ended.
    writer.finish(&mut tally)?;
    read?;
    Ok(tally)
}
