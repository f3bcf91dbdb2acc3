use super::*;
use brickyard_store::{
    ControlEntry, ControlHardState, ControlLog, ControlState, LogConfig, Purpose, open,
};
use brickyard_types::record::{Header, Kind, encode};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::path::Path;

/// A directory with one brick whose log has two records.
fn directory() -> tempfile::TempDir {
    let made = tempfile::tempdir().unwrap();
    let directory = DataDir::open(made.path(), Create::IfMissing).unwrap();
    let disk = directory.brick(BrickId(0)).unwrap();
    let config = LogConfig::new(BrickId(0), directory.directory());
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
fn each_of_several_nodes_directories_is_verified() {
    let all = tempfile::tempdir().unwrap();
    let node = |name: &str| all.path().join(name);
    for name in ["node-0", "node-1"] {
        std::fs::rename(directory().keep(), node(name)).unwrap();
    }
    std::fs::write(node("dev.json"), b"{}").unwrap();
    let success = format!("{:?}", ExitCode::SUCCESS);
    assert_eq!(code(run(arguments(all.path()))), success);
    damage(&node("node-0"));
    assert_ne!(code(run(arguments(all.path()))), success);
    let repair = Arguments {
        repair_tail: true,
        ..arguments(all.path())
    };
    let error = run(repair).unwrap_err().to_string();
    assert!(error.contains("name one of them"), "{error}");
    assert!(error.contains("node-1"), "{error}");
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

/// A directory as a server leaves it: with a control log of one entry.
fn with_control_log() -> tempfile::TempDir {
    let made = directory();
    let directory = DataDir::open(made.path(), Create::Never).unwrap();
    let state = ControlState {
        hard_state: ControlHardState {
            term: 3,
            vote: 1,
            commit: 0,
        },
        snapshot: None,
        entries: vec![ControlEntry {
            index: 1,
            term: 3,
            kind: 0,
            data: b"an entry".to_vec(),
        }],
    };
    let disk = directory.disk().clone();
    let log = ControlLog::create(disk, directory.directory(), &state).unwrap();
    log.close().unwrap();
    made
}

#[test]
fn control_log_is_verified_too() {
    let made = with_control_log();
    let success = format!("{:?}", ExitCode::SUCCESS);
    assert_eq!(code(run(arguments(made.path()))), success);
    let control = |made: &tempfile::TempDir| {
        let directory = DataDir::open(made.path(), Create::Never).unwrap();
        control::ControlLog::verify(&directory).unwrap().unwrap()
    };
    let shown = control(&made).to_text();
    assert!(shown.contains("term 3, vote for node 0"), "{shown}");
    assert!(shown.contains("entries 1 to 1 of term 3"), "{shown}");
    let path = made.path().join("control");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|it| it == b"an entry").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_ne!(code(run(arguments(made.path()))), success);
    let shown = control(&made);
    let offset = shown.to_json()["damage_offset"].as_u64().unwrap();
    assert!((64..at as u64).contains(&offset), "{offset}");
    let text = shown.to_text();
    assert!(
        text.contains(&format!("damaged at offset {offset}")),
        "{text}"
    );
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
