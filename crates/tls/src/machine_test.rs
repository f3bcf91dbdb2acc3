//! Nodes of one machine find the same files, however many begin at once, and nobody else can read them.

use super::*;
use crate::NodeSide;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn all_nodes_of_a_directory_have_the_same_files_and_nobody_else() {
    let place = tempfile::TempDir::new().expect("a directory");
    let dir = place.path().join("a/b");
    // One that was killed in the middle.
    let half = place.path().join(format!("a/b.{}", std::process::id()));
    fs::create_dir_all(half.join("x")).expect("made");
    let files = MachineFiles::of(&dir).expect("made");
    let side = NodeSide::read(&files.identity, &files.authority);
    side.expect("they can be used");
    let before = fs::read(&files.identity.certificate).expect("read");
    assert_eq!(MachineFiles::of(&dir).expect("there"), files);
    assert_eq!(fs::read(&files.identity.certificate).expect("read"), before);
    let rights = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(rights(&dir), 0o700);
    assert_eq!(rights(&files.identity.key), 0o600);
    assert!(!half.exists());
}

#[test]
fn whoever_is_slower_takes_what_the_faster_has_made() {
    let place = tempfile::TempDir::new().expect("a directory");
    let dir = place.path().join("c");
    make(&dir).expect("made");
    let before = fs::read(dir.join("ca.crt")).expect("read");
    make(&dir).expect("there already");
    assert_eq!(fs::read(dir.join("ca.crt")).expect("read"), before);
    let names = fs::read_dir(place.path()).expect("listed").count();
    assert_eq!(names, 1, "nothing is left behind");
}
