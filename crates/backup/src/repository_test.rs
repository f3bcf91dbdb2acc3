use super::*;
use std::fs;

#[test]
fn names_that_could_lead_elsewhere_are_refused() {
    for good in ["1763812345", "before-upgrade_2.1"] {
        assert!(check_name(good).is_ok());
    }
    let long = "x".repeat(101);
    for bad in ["", "a/b", "../x", ".hidden", "-x", "a b", "a\n", &long] {
        assert!(check_name(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_file_that_was_not_finished_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::create(&Place::Directory(dir.path().into())).unwrap();
    let mut file = repository.new_part("b", 1).unwrap();
    file.out.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(fs::read_dir(dir.path().join("parts/b")).unwrap().count(), 0);
    let file = repository.new_part("b", 1).unwrap();
    assert_eq!(file.finish().unwrap(), "parts/b/1.part");
    let again = repository.new_part("b", 1).err().unwrap().to_string();
    assert!(again.contains("there already"), "{again}");
    assert!(repository.manifests().unwrap().is_empty());
    assert!(repository.chosen(None).is_err());
    assert!(Repository::open(&Place::Directory(dir.path().join("nosuch"))).is_err());
}

#[test]
fn a_name_that_is_taken_is_refused_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::create(&Place::Directory(dir.path().into())).unwrap();
    assert!(repository.check_new("b").is_ok());
    fs::write(dir.path().join("b.json"), "{}").unwrap();
    let error = repository.check_new("b").unwrap_err().to_string();
    assert!(error.contains("give the backup another name"), "{error}");
}
