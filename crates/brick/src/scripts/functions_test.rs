use super::*;
use crate::scripts::NodeScripts;
use brickyard_metadata::{Catalog, Change, LibraryPolicy};

fn library(name: &str, code: &str, functions: &[(&str, u8)]) -> Library {
    let function = |(name, flags): &(&str, u8)| LibraryFunction {
        name: (*name).to_owned(),
        description: None,
        flags: *flags,
    };
    Library {
        name: name.to_owned(),
        code: code.as_bytes().to_vec(),
        functions: functions.iter().map(function).collect(),
    }
}

#[test]
fn function_is_found_by_its_name_in_any_case_and_texts_are_shared() {
    let node = NodeScripts::new(2);
    let mut catalog = crate::harness::log().catalog;
    let add = |catalog: &mut Catalog, libraries| {
        let policy = LibraryPolicy::Replace;
        catalog
            .apply(Change::AddLibraries { libraries, policy })
            .unwrap();
    };
    let libraries = vec![
        library("a", "text", &[("Get", 0b01), ("put", 0b10)]),
        library("b", "other", &[("x", 0)]),
    ];
    add(&mut catalog, libraries);
    let first = node.functions(catalog.libraries());
    assert!(Arc::ptr_eq(&first, &node.functions(catalog.libraries())));
    assert_eq!(first.len(), 3);
    let get = first.find(b"gET").unwrap();
    assert_eq!(&*get.called.name, "Get");
    assert!(get.no_writes && !get.called.allow_oom);
    let put = first.find(b"PUT").unwrap();
    assert!(!put.no_writes && put.called.allow_oom);
    assert!(first.find(b"got").is_none());
    add(&mut catalog, vec![library("b", "new", &[("y", 0)])]);
    let second = node.functions(catalog.libraries());
    assert!(Arc::ptr_eq(&second.find(b"get").unwrap().text, &get.text));
    assert!(second.find(b"x").is_none());
    assert_eq!(&*second.find(b"y").unwrap().text.body, b"new");
}
