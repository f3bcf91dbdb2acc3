use super::*;
use brickyard_store::{Config, Purpose, open};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::path::Path;

/// A directory with one brick whose log has two records.
fn directory() -> tempfile::TempDir {
    let made = tempfile::tempdir().unwrap();
    let directory = DataDir::open(made.path(), Create::IfMissing).unwrap();
    let disk = directory.brick(BrickId(0)).unwrap();
    let config = Config::new(BrickId(0), directory.directory());
    let mut opened = open(disk, config, &|_| true, &mut |_| {}).unwrap();
    for op in 1..=2 {
        let mut batch = Vec::new();
        let header = Header {
            kind: Kind::Put,
            flags: 0,
            table: TableId(1),
            partition: PartitionId(1),
            view: View(1),
            op: Op(op),
            expires_at: None,
            request: None,
            origin: None,
            committed: None,
        };
        encode(&mut batch, &header, b"key", &[b"some value"]);
        opened.appender.append(&batch, Purpose::Store).unwrap();
    }
    opened.syncer.sync(opened.appender.end()).unwrap();
    made
}

fn arguments(dir: &Path) -> Arguments {
    Arguments {
        dir: dir.to_owned(),
        verify: true,
        repair_tail: false,
        discard_damaged: None,
        yes: false,
        brick: None,
        json: false,
    }
}

/// Flips a byte of the first record's value.
fn damage(dir: &Path) {
    let path = dir.join("brick-0/000001.seg");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(10)
        .position(|window| window == b"some value")
        .unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

fn code(result: anyhow::Result<ExitCode>) -> String {
    format!("{:?}", result.unwrap())
}

#[test]
fn sound_directory_verifies_and_damaged_one_does_not() {
    let made = directory();
    let success = format!("{:?}", ExitCode::SUCCESS);
    assert_eq!(code(run(arguments(made.path()))), success);
    damage(made.path());
    assert_ne!(code(run(arguments(made.path()))), success);
}

#[test]
fn discard_asks_first_and_then_leaves_a_sound_segment() {
    let made = directory();
    damage(made.path());
    let discard = |yes| Arguments {
        verify: false,
        discard_damaged: Some(1),
        yes,
        ..arguments(made.path())
    };
    let success = format!("{:?}", ExitCode::SUCCESS);
    assert_ne!(code(run(discard(false))), success);
    assert_ne!(
        code(run(arguments(made.path()))),
        success,
        "nothing was changed"
    );
    assert_eq!(code(run(discard(true))), success);
    assert_eq!(code(run(arguments(made.path()))), success);
    assert!(made.path().join("brick-0/000001.damaged").exists());
}

#[test]
fn directory_in_use_is_refused() {
    let made = directory();
    let _held = DataDir::open(made.path(), Create::Never).unwrap();
    let error = run(arguments(made.path())).unwrap_err().to_string();
    assert!(error.contains("is in use by process"), "{error}");
}

#[test]
fn unknown_brick_is_refused() {
    let made = directory();
    let error = run(Arguments {
        brick: Some(7),
        ..arguments(made.path())
    })
    .unwrap_err();
    assert!(error.to_string().contains("has no brick 7"), "{error}");
}
