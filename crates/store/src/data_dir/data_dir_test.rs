use super::*;

fn open(path: &Path) -> Result<DataDir, DataDirError> {
    DataDir::open(path, Create::IfMissing)
}

#[test]
fn ids_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b");
    let first = open(&path).unwrap();
    let (node, id) = (first.node(), first.directory());
    assert_eq!(node.to_string().len(), 40);
    drop(first);
    let second = open(&path).unwrap();
    assert_eq!((second.node(), second.directory()), (node, id));
}

#[test]
fn second_process_is_refused_and_told_who_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let held = open(directory.path()).unwrap();
    let Err(DataDirError::Busy { pid, .. }) = open(directory.path()) else {
        panic!("two owners");
    };
    assert_eq!(pid, Some(std::process::id()));
    drop(held);
    open(directory.path()).unwrap();
}

#[test]
fn somebody_elses_directory_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("thesis.txt"), "years").unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(error.to_string().contains("holds 'thesis.txt'"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn other_format_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    let file = directory.path().join(FORMAT);
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("format 1", "format 2");
    std::fs::write(&file, &text).unwrap();
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("says format 2 and this program knows format 1 alone"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn tool_makes_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let error = DataDir::open(directory.path(), Create::Never).unwrap_err();
    assert!(matches!(error, DataDirError::Missing { .. }), "{error}");
}

#[test]
fn page_cache_is_believed_only_within_one_boot() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = open(directory.path()).unwrap();
    assert_eq!(first.page_cache(), PageCache::MaybeLost);
    assert!(!first.is_tail_unsure(), "a new directory has lost nothing");
    first.confirm_boot().unwrap();
    drop(first);

    let again = open(directory.path()).unwrap();
    let expected = match again.boot.now {
        Some(_) => PageCache::Intact,
        None => PageCache::MaybeLost,
    };
    assert_eq!(again.page_cache(), expected);
    assert!(!again.is_tail_unsure());
}

/// Rule `a lost log end is noted first`.
#[test]
fn tail_stays_unsure_until_it_is_confirmed() {
    // Power cut; started on boot 2 and killed; started again on boot 2: equal ids prove nothing.
    let directory = tempfile::tempdir().unwrap();
    let mut first = open(directory.path()).unwrap();
    first.boot.now = Some("boot-1".to_owned());
    first.confirm_boot().unwrap();
    drop(first);

    let mut second = open(directory.path()).unwrap();
    second.boot.now = Some("boot-2".to_owned());
    assert!(second.is_tail_unsure());
    second.confirm_boot().unwrap();
    drop(second);

    let mut third = open(directory.path()).unwrap();
    third.boot.now = Some("boot-2".to_owned());
    assert_eq!(third.page_cache(), PageCache::Intact);
    assert!(third.is_tail_unsure());
    third.confirm_tail().unwrap();
    assert!(!third.is_tail_unsure());
}

/// Rule `a lost log end is noted first`.
#[test]
fn tail_is_unsure_after_a_failed_sync_until_it_is_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = open(directory.path()).unwrap();
    first.confirm_boot().unwrap();
    let brick = first.brick(BrickId(0)).unwrap();
    // As the log leaves it, and as recovery takes it away.
    brick.create(crate::file_name::UNSURE).unwrap();
    drop(first);
    let second = open(directory.path()).unwrap();
    assert!(second.is_tail_unsure());
    brick.remove(crate::file_name::UNSURE).unwrap();
    drop(second);
    let mut third = open(directory.path()).unwrap();
    assert!(third.is_tail_unsure());
    third.confirm_boot().unwrap();
    assert!(third.is_tail_unsure());
    third.confirm_tail().unwrap();
    assert!(!third.is_tail_unsure());
}

/// Rule `a lost log end is noted first`.
#[test]
fn end_that_was_cut_is_known_until_the_tail_is_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = open(directory.path()).unwrap();
    first.confirm_boot().unwrap();
    assert!(!first.is_end_cut());
    let brick = first.brick(BrickId(0)).unwrap();
    // As recovery leaves it before it cuts.
    brick.create(crate::file_name::TORN).unwrap();
    first.confirm_boot().unwrap();
    assert!(first.is_end_cut() && first.is_tail_unsure());
    assert!(brick.list().unwrap().is_empty(), "the note is enough");
    drop(first);
    let mut second = open(directory.path()).unwrap();
    assert!(second.is_end_cut());
    second.confirm_boot().unwrap();
    assert!(second.is_end_cut());
    second.confirm_tail().unwrap();
    assert!(!second.is_end_cut() && !second.is_tail_unsure());
}

#[test]
fn lost_boot_file_means_the_worst() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = open(directory.path()).unwrap();
    first.confirm_boot().unwrap();
    drop(first);
    for content in [None, Some("nonsense")] {
        match content {
            None => std::fs::remove_file(directory.path().join(BOOT)).unwrap(),
            Some(text) => std::fs::write(directory.path().join(BOOT), text).unwrap(),
        }
        let again = open(directory.path()).unwrap();
        assert_eq!(again.page_cache(), PageCache::MaybeLost);
        assert!(again.is_tail_unsure());
    }
}

#[test]
fn bricks_are_listed_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = open(directory.path()).unwrap();
    for brick in [10, 2, 0] {
        data_dir.brick(BrickId(brick)).unwrap();
    }
    data_dir.brick(BrickId(2)).unwrap();
    std::fs::create_dir(directory.path().join("brick-03")).unwrap();
    assert_eq!(
        data_dir.bricks().unwrap(),
        [BrickId(0), BrickId(2), BrickId(10)]
    );
}

#[test]
fn brick_whose_directory_cannot_be_made_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = open(directory.path()).unwrap();
    std::fs::remove_dir_all(directory.path()).unwrap();
    let error = data_dir.brick(BrickId(0)).unwrap_err();
    assert!(error.to_string().contains("create directory"), "{error}");
}
