use super::*;
use crate::fixture::cluster;
use crate::library::{LIBRARY_BYTES_MAX, LibraryFunction};
use crate::{Catalog, Change};

fn library(name: &str, functions: &[&str]) -> Library {
    let function = |name: &&str| LibraryFunction {
        name: (*name).to_owned(),
        description: None,
        flags: 0,
    };
    Library {
        name: name.to_owned(),
        code: format!("#!lua name={name}\n").into_bytes(),
        functions: functions.iter().map(function).collect(),
    }
}

fn add(
    catalog: &mut Catalog,
    libraries: Vec<Library>,
    policy: LibraryPolicy,
) -> Result<bool, Refusal> {
    let before = catalog.version();
    let change = Change::AddLibraries { libraries, policy };
    catalog
        .apply(change)
        .map(|applied| applied.version != before)
}

fn names(catalog: &Catalog) -> Vec<&str> {
    let names = catalog.libraries().iter().map(|it| it.name.as_str());
    names.collect()
}

#[test]
fn library_is_added_replaced_and_dropped() {
    let mut catalog = cluster(1, 1);
    assert!(
        add(
            &mut catalog,
            vec![library("a", &["f"])],
            LibraryPolicy::Append
        )
        .unwrap()
    );
    let taken = add(
        &mut catalog,
        vec![library("a", &["f", "g"])],
        LibraryPolicy::Append,
    );
    assert_eq!(taken.unwrap_err().to_string(), "Library 'a' already exists");
    assert!(
        add(
            &mut catalog,
            vec![library("a", &["f", "g"])],
            LibraryPolicy::Replace
        )
        .unwrap()
    );
    let again = add(
        &mut catalog,
        vec![library("a", &["f", "g"])],
        LibraryPolicy::Replace,
    );
    assert!(!again.unwrap(), "the same again is no change");
    assert!(
        add(
            &mut catalog,
            vec![library("A", &["h"])],
            LibraryPolicy::Append
        )
        .unwrap()
    );
    assert_eq!(names(&catalog), ["A", "a"]);
    assert!(
        add(
            &mut catalog,
            vec![library("b", &["f"])],
            LibraryPolicy::Flush
        )
        .unwrap()
    );
    assert_eq!(names(&catalog), ["b"]);
    let drop = |name: &str| Change::DropLibrary {
        name: name.to_owned(),
    };
    assert_eq!(
        catalog.apply(drop("a")).unwrap_err(),
        Refusal::UnknownLibrary
    );
    catalog.apply(drop("b")).unwrap();
    assert!(catalog.libraries().is_empty());
}

#[test]
fn name_of_a_function_is_one_functions_and_a_refused_change_changes_nothing() {
    let mut catalog = cluster(1, 1);
    add(
        &mut catalog,
        vec![library("a", &["Get"])],
        LibraryPolicy::Append,
    )
    .unwrap();
    let before = catalog.clone();
    let others = [
        vec![library("c", &["x"]), library("b", &["gET"])],
        vec![library("b", &["x", "X"])],
        vec![library("b", &["x"]), library("c", &["x"])],
    ];
    for libraries in others {
        for policy in [LibraryPolicy::Append, LibraryPolicy::Replace] {
            let refused = add(&mut catalog, libraries.clone(), policy);
            assert!(
                matches!(refused, Err(Refusal::FunctionTaken { .. })),
                "{refused:?}"
            );
            assert_eq!(catalog, before);
        }
    }
    let twice = vec![library("b", &["x"]), library("b", &["y"])];
    let refused = add(&mut catalog, twice, LibraryPolicy::Replace);
    assert!(matches!(refused, Err(Refusal::LibraryTaken { .. })));
    // One that goes gives its names.
    add(
        &mut catalog,
        vec![library("a", &["other"]), library("b", &["get"])],
        LibraryPolicy::Replace,
    )
    .unwrap();
}

#[test]
fn libraries_are_bounded_alone_and_together() {
    let mut catalog = cluster(1, 1);
    let mut large = library("a", &["f"]);
    large.code.resize(LIBRARY_BYTES_MAX, b' ');
    let refused = add(&mut catalog, vec![large], LibraryPolicy::Append);
    assert!(
        matches!(refused, Err(Refusal::BadLibrary { .. })),
        "{refused:?}"
    );
    // A short text may register very many.
    let mut many = library("a", &[]);
    many.functions = (0..20_000)
        .map(|it| LibraryFunction {
            name: format!("f{it}"),
            description: None,
            flags: 0,
        })
        .collect();
    assert!(add(&mut catalog, vec![many], LibraryPolicy::Append).is_err());
    let mut count = 0;
    let refused = loop {
        let mut next = library(&format!("l{count}"), &[&format!("f{count}")]);
        next.code.resize(LIBRARY_BYTES_MAX - 1_000, b' ');
        match add(&mut catalog, vec![next], LibraryPolicy::Append) {
            Ok(_) => count += 1,
            Err(refused) => break refused,
        }
    };
    assert!(
        matches!(refused, Refusal::TooManyLibraries { .. }),
        "{refused}"
    );
    assert_eq!(count, LIBRARIES_BYTES_MAX / LIBRARY_BYTES_MAX);
}

#[test]
fn names_and_flags_that_redis_does_not_know_are_refused() {
    let mut catalog = cluster(1, 1);
    let mut flagged = library("a", &["f"]);
    flagged.functions[0].flags = 1 << 5;
    for library in [
        library("a-b", &["f"]),
        library("", &["f"]),
        library("a", &["f g"]),
        library("a", &["ä"]),
        library("a", &[]),
        flagged,
    ] {
        let refused = add(&mut catalog, vec![library.clone()], LibraryPolicy::Append);
        assert!(
            matches!(refused, Err(Refusal::BadLibrary { .. })),
            "{library:?}"
        );
    }
}

#[test]
fn copies_of_a_catalog_share_libraries_until_one_changes() {
    let mut catalog = cluster(1, 1);
    add(
        &mut catalog,
        vec![library("a", &["f"])],
        LibraryPolicy::Append,
    )
    .unwrap();
    let copy = catalog.clone();
    catalog.apply(Change::PauseMoves(true)).unwrap();
    assert!(catalog.libraries().is_same(copy.libraries()));
    let change = Change::DropLibrary {
        name: "a".to_owned(),
    };
    catalog.apply(change).unwrap();
    assert!(!catalog.libraries().is_same(copy.libraries()));
    assert_eq!(names(&copy), ["a"]);
    let changed = |catalog: &mut Catalog, change: Change| {
        let before = catalog.version();
        catalog.apply(change).unwrap().version != before
    };
    assert!(!changed(&mut catalog, Change::FlushLibraries));
    add(
        &mut catalog,
        vec![library("a", &["f"])],
        LibraryPolicy::Append,
    )
    .unwrap();
    assert!(changed(&mut catalog, Change::FlushLibraries));
}
