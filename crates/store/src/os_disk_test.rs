use super::*;

#[test]
fn names_are_listed_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let disk = OsDisk::open(directory.path()).unwrap();
    let mut names: Vec<String> = (0..50).map(|it| format!("{}.seg", it * 37 % 50)).collect();
    for name in &names {
        disk.create(name).unwrap();
    }
    names.sort();
    assert_eq!(disk.list().unwrap(), names);
}
