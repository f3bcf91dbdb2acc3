//! Checks every byte of the logs and says what is wrong, by segment and offset.

use super::control::ControlLog;
use anyhow::Context as _;
use brickyard_store::DataDir;
use brickyard_store::inspect::{InspectSummary, SegmentReport, inspect};
use brickyard_types::BrickId;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) fn run(
    directory: &DataDir,
    bricks: &[BrickId],
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut is_sound = true;
    let mut as_json = Vec::new();
    let control = ControlLog::verify(directory)?;
    if let Some(control) = &control {
        is_sound &= control.is_sound();
        if !is_json {
            print!("{}", control.to_text());
        }
    }
    for &brick in bricks {
        let disk = directory.brick(brick)?;
        let mut segments = Vec::new();
        if !is_json {
            println!("brick {brick}:");
        }
        let summary = inspect(&disk, &mut |report| {
            if is_json {
                segments.push(to_json(&report));
            } else {
                print_segment(brick, &report);
            }
        })
        .with_context(|| format!("brick {brick} cannot be verified"))?;
        is_sound &= summary.is_sound();
        if is_json {
            as_json.push(summary_to_json(brick, &summary, segments));
        } else {
            print_summary(&summary);
        }
    }
    if is_json {
        let control = control.as_ref().map(ControlLog::to_json);
        let report = json!({ "sound": is_sound, "control": control, "bricks": as_json });
        println!("{report:#}");
    } else if is_sound {
        println!("everything verified");
    } else {
        println!("damage was found; nothing was changed");
    }
    Ok(if is_sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print_segment(brick: BrickId, report: &SegmentReport) {
    let state = if report.is_sealed { "sealed" } else { "open" };
    println!(
        "  segment {:>6} {state:<6} {:>12} bytes {:>10} records {:>8} tombstones  hint {}",
        report.segment.0, report.file_bytes, report.records, report.tombstones, report.hint
    );
    for damage in &report.damages {
        println!("    DAMAGE {damage}");
    }
    if !report.damages.is_empty() {
        println!(
            "    to give these ranges up: brickyard inspect DIR --brick {brick} --discard-damaged {} --yes",
            report.segment
        );
    }
    if let Some((offset, len)) = report.torn_tail {
        println!("    torn tail: {len} bytes at offset {offset}; --repair-tail cuts it off");
    }
}

fn print_summary(summary: &InspectSummary) {
    println!(
        "  {} segments, {} bytes, {} records, {} damaged ranges, {} wrong hint files",
        summary.segments, summary.file_bytes, summary.records, summary.damages, summary.hints_wrong
    );
    for leftover in &summary.leftovers {
        println!("  leftover {leftover}: half-written, the next start removes it");
    }
    if summary.is_unsure {
        println!(
            "  a sync failed before the last stop: the next start trusts only what was synced"
        );
    }
}

fn to_json(report: &SegmentReport) -> Value {
    let damages = report.damages.iter().map(|damage| {
        json!({
            "offset": damage.offset,
            "len": damage.len,
            "loss": damage.is_loss(),
            "text": damage.to_string(),
        })
    });
    json!({
        "segment": report.segment.0,
        "sealed": report.is_sealed,
        "file_bytes": report.file_bytes,
        "records": report.records,
        "record_bytes": report.record_bytes,
        "tombstones": report.tombstones,
        "partitions": report.ranges.len(),
        "hint": report.hint.to_string(),
        "torn_tail": report.torn_tail.map(|(offset, len)| json!({ "offset": offset, "len": len })),
        "damages": damages.collect::<Vec<_>>(),
    })
}

fn summary_to_json(brick: BrickId, summary: &InspectSummary, segments: Vec<Value>) -> Value {
    json!({
        "brick": brick.0,
        "sound": summary.is_sound(),
        "file_bytes": summary.file_bytes,
        "records": summary.records,
        "damages": summary.damages,
        "wrong_hints": summary.hints_wrong,
        "leftovers": summary.leftovers,
        "unsure": summary.is_unsure,
        "segments": segments,
    })
}
