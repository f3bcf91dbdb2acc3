//! All keys of both sides, compared.
//!
//! In:  a source and the tables. Out: how many keys are the same, and those that are not.
//!
//! While both change, a difference is looked at again: one that stays is told.

use super::{
    asker::Asker,
    compare::{Difference, compare},
    sink::Sink,
    source::Source,
};
use brickyard_bench::grouped;
use brickyard_import::KeyPlace;
use std::{collections::BTreeMap, time::Duration};

/// Keys that are compared at a time.
const BATCH: usize = 256;
/// Looks at a key before it counts as different.
const LOOKS: u32 = 10;
/// Between two of them: what follows a source has come by then.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// Differences that are told one by one.
const TOLD_MAX: usize = 10;
/// Differences past which looking again is given up.
const DIFFERENCES_MAX: usize = 10_000;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    compared: u64,
    differences: Vec<Difference>,
}

impl Verdict {
    pub(crate) fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for difference in self.differences.iter().take(TOLD_MAX) {
            text.push_str(&format!("{difference}\n"));
        }
        let compared = grouped(self.compared);
        match self.differences.len() {
            0 => text.push_str(&format!(
                "{compared} keys compared: both sides are the same\n"
            )),
            count => text.push_str(&format!(
                "{compared} keys compared: {} differ\n",
                grouped(count as u64)
            )),
        }
        text
    }
}

/// Compares every key of the source with the target, and every key of the target with the source.
pub(crate) async fn verify(
    source: &Source,
    sink: &Sink,
    tables: &BTreeMap<u32, String>,
) -> anyhow::Result<Verdict> {
    let mut asker = Asker::new(source)?;
    let mut verdict = Verdict::default();
    for database in tables.keys().copied() {
        let mut cursor = b"0".to_vec();
        loop {
            let places;
            (cursor, places) = asker.scan(database, &cursor)?;
            for places in places.chunks(BATCH) {
                look(&mut asker, sink, places, &mut verdict).await?;
            }
            if cursor == b"0" {
                break;
            }
        }
        let mut scan = sink.table(database)?.scan();
        let mut places = Vec::new();
        while let Some(key) = scan.next().await? {
            places.push(KeyPlace { database, key });
            if places.len() == BATCH {
                look(&mut asker, sink, &places, &mut verdict).await?;
                places.clear();
            }
        }
        look(&mut asker, sink, &places, &mut verdict).await?;
    }
    for _ in 1..LOOKS {
        if verdict.is_same() || verdict.differences.len() > DIFFERENCES_MAX {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let mut again: Vec<KeyPlace> = verdict.differences.drain(..).map(|it| it.place).collect();
        again.sort();
        again.dedup();
        let compared = verdict.compared;
        for places in again.chunks(BATCH) {
            look(&mut asker, sink, places, &mut verdict).await?;
        }
        verdict.compared = compared;
    }
    Ok(verdict)
}

async fn look(
    asker: &mut Asker,
    sink: &Sink,
    places: &[KeyPlace],
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    verdict.compared += places.len() as u64;
    verdict
        .differences
        .extend(compare(asker, sink, places).await?);
    Ok(())
}
