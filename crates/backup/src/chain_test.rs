use super::*;
use crate::{
    manifest::FORMAT,
    part::PartWriter,
    place::Place,
    verify::{Contents, verify},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn row(key: &str, op: u64, value: Option<&str>) -> Row {
    Row {
        key: key.as_bytes().to_vec(),
        op,
        expires_at: None,
        value: value.map(|it| it.as_bytes().to_vec()),
        is_payload: false,
    }
}

/// Writes a backup of one partition.
fn backup(repository: &Repository, name: &str, base: Option<&str>, rows: &[Row]) -> Manifest {
    let mut file = repository.new_part(name, 3).unwrap();
    let mut writer = PartWriter::begin(&mut file.out, 3).unwrap();
    for row in rows {
        writer.push(row).unwrap();
    }
    let (totals, file_bytes) = writer.end().unwrap();
    let part = PartEntry {
        partition: 3,
        view: 1,
        op: 10,
        generation: 1,
        file: file.finish().unwrap(),
        file_bytes,
        rows: totals.rows,
        values: totals.values,
        digest: format!("{:016x}", totals.digest),
    };
    let manifest = Manifest {
        format: FORMAT,
        name: name.to_owned(),
        begun_ms: name.bytes().map(u64::from).sum(),
        table: "t".to_owned(),
        table_id: 1,
        attributes: BTreeMap::new(),
        base: base.map(ToOwned::to_owned),
        parts: vec![part],
    };
    repository.publish(&manifest).unwrap();
    manifest
}

fn all(repository: &Repository, manifest: &Manifest) -> anyhow::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    each_row(repository, manifest, &manifest.parts[0], |row| {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        all.push((text(row.key), text(row.value.unwrap())));
        Ok(())
    })?;
    all.sort();
    Ok(all)
}

fn three(dir: &Path) -> (Repository, Manifest) {
    let repository = Repository::create(&Place::Directory(dir.into())).unwrap();
    let first = [
        row("a", 1, Some("one")),
        row("b", 2, Some("two")),
        row("c", 3, Some("three")),
    ];
    backup(&repository, "first", None, &first);
    // b was written anew, c deleted and put again.
    let second = [
        row("a", 1, None),
        row("b", 11, Some("new")),
        row("c", 12, Some("again")),
    ];
    backup(&repository, "second", Some("first"), &second);
    let third = [
        row("a", 1, None),
        row("b", 11, None),
        row("d", 20, Some("four")),
    ];
    let manifest = backup(&repository, "third", Some("second"), &third);
    (repository, manifest)
}

#[test]
fn values_come_from_where_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, manifest) = three(dir.path());
    let expected = [("a", "one"), ("b", "new"), ("d", "four")];
    let expected: Vec<_> = expected
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
    assert_eq!(all(&repository, &manifest).unwrap(), expected);
    // A full one of the same contents has the same digest, whatever its ops are.
    let rows = [
        row("d", 1, Some("four")),
        row("b", 2, Some("new")),
        row("a", 3, Some("one")),
    ];
    let full = backup(&repository, "whole", None, &rows);
    let contents = [&manifest, &full].map(|it| verify(&repository, it, || ()).unwrap());
    assert_eq!(contents[0], contents[1]);
    assert_ne!(contents[0], Contents::default());
}

#[test]
fn what_is_missing_or_damaged_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, manifest) = three(dir.path());
    let part: PathBuf = dir.path().join("parts/first/3.part");
    let whole = fs::read(&part).unwrap();
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    fs::write(&part, &damaged).unwrap();
    let error = format!("{:#}", all(&repository, &manifest).unwrap_err());
    assert!(
        error.contains("parts/first/3.part: damaged at offset 16"),
        "{error}"
    );
    fs::write(&part, &whole[..whole.len() - 1]).unwrap();
    let error = format!("{:#}", all(&repository, &manifest).unwrap_err());
    assert!(error.contains("when the backup was made"), "{error}");
    fs::write(&part, &whole).unwrap();
    fs::remove_file(dir.path().join("first.json")).unwrap();
    let error = format!("{:#}", all(&repository, &manifest).unwrap_err());
    assert!(error.contains("rests on backup first"), "{error}");
}

#[test]
fn a_part_does_not_lead_out_of_the_repository() {
    let dir = tempfile::tempdir().unwrap();
    let (repository, mut manifest) = three(dir.path());
    for name in ["/etc/passwd", "parts/../../x", "first.json"] {
        name.clone_into(&mut manifest.parts[0].file);
        let error = all(&repository, &manifest).unwrap_err().to_string();
        assert!(error.contains("no name of a part"), "{error}");
    }
}
