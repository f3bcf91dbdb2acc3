//! What a data directory holds, without reading its logs; also while a server runs.

use super::control::ControlLog;
use anyhow::Context as _;
use brickyard_metadata::Catalog;
use brickyard_store::OsDisk;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// A file of a brick.
struct LogFile {
    name: String,
    bytes: u64,
}

/// A brick's directory.
struct BrickFiles {
    brick: u32,
    files: Vec<LogFile>,
}

pub(super) fn run(dir: &Path, is_json: bool) -> anyhow::Result<ExitCode> {
    let path = dir.join("catalog");
    let bytes = std::fs::read(&path)
        .with_context(|| format!("cannot read {}: is this a data directory?", path.display()))?;
    let catalog = Catalog::decode(&bytes).with_context(|| path.display().to_string())?;
    let bricks = bricks(dir)?;
    let disk = OsDisk::open(dir).with_context(|| format!("cannot open {}", dir.display()))?;
    let control = ControlLog::inspect(&disk)?;
    if is_json {
        println!("{:#}", to_json(&catalog, &bricks, control.as_ref()));
    } else {
        print!("{}", to_text(&catalog, &bricks, control.as_ref()));
    }
    Ok(ExitCode::SUCCESS)
}

fn bricks(dir: &Path) -> anyhow::Result<Vec<BrickFiles>> {
    let mut bricks = Vec::new();
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", dir.display()))?;
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("brick-")?.parse().ok());
        if let Some(brick) = number {
            bricks.push(BrickFiles {
                brick,
                files: files(&entry.path())?,
            });
        }
    }
    bricks.sort_by_key(|brick| brick.brick);
    Ok(bricks)
}

fn files(dir: &Path) -> anyhow::Result<Vec<LogFile>> {
    let mut files = Vec::new();
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", dir.display()))?;
        // A running server may have removed it since.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push(LogFile {
            name,
            bytes: metadata.len(),
        });
    }
    files.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(files)
}

fn to_text(catalog: &Catalog, bricks: &[BrickFiles], control: Option<&ControlLog>) -> String {
    let mut out = format!(
        "cluster {}  catalog version {}  bricks {}\n\n{:<24} {:>6} {:<6} {:<10} {:>10}\n",
        catalog.cluster(),
        catalog.version(),
        catalog.candidates().len(),
        "table",
        "id",
        "medium",
        "durability",
        "partitions",
    );
    for table in catalog.tables() {
        let partitions = table.map.partitions().leaves().len();
        let (medium, durability) = (table.attributes.medium, table.attributes.durability);
        let (name, id) = (&table.name, table.id.0);
        let (medium, durability) = (medium.word(), durability.word());
        let _ = writeln!(
            out,
            "{name:<24} {id:>6} {medium:<6} {durability:<10} {partitions:>10}"
        );
    }
    if let Some(control) = control {
        let _ = write!(out, "\n{}", control.to_text());
    }
    for BrickFiles { brick, files } in bricks {
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let _ = writeln!(out, "\nbrick {brick}: {} files, {total} bytes", files.len());
        for file in files {
            let _ = writeln!(out, "  {:<20} {:>14}", file.name, file.bytes);
        }
    }
    out
}

fn to_json(catalog: &Catalog, bricks: &[BrickFiles], control: Option<&ControlLog>) -> Value {
    let tables = catalog.tables().map(|table| {
        json!({
            "name": table.name,
            "id": table.id.0,
            "medium": table.attributes.medium.word(),
            "durability": table.attributes.durability.word(),
            "partitions": table.map.partitions().leaves().len(),
        })
    });
    let bricks = bricks.iter().map(|BrickFiles { brick, files }| {
        let files = files
            .iter()
            .map(|file| json!({ "name": file.name, "bytes": file.bytes }));
        json!({ "brick": brick, "files": files.collect::<Vec<_>>() })
    });
    json!({
        "cluster": catalog.cluster().to_string(),
        "catalog_version": catalog.version().0,
        "tables": tables.collect::<Vec<_>>(),
        "control": control.map(ControlLog::to_json),
        "bricks": bricks.collect::<Vec<_>>(),
    })
}
