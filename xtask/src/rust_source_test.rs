use super::*;

fn texts(text: &str) -> Vec<String> {
    Source::parse(text)
        .tokens
        .into_iter()
        .map(|token| token.text)
        .collect()
}

#[test]
fn strings_comments_characters_and_numbers_are_no_names() {
    let code = r##"
        let a = "std::fs"; // std::net
        /* std::thread /* nested */ still */ let b = r#"Instant::now "quoted" "#;
        let c = '"'; let d = b'\''; let e: &'static str = "\" unsafe"; let f = 0x1f_u32;
        let g = '\u{41}'; let h = b"std::env";
    "##;
    let names: Vec<String> = texts(code)
        .into_iter()
        .filter(|text| text.len() > 1)
        .collect();
    assert_eq!(
        names,
        [
            "let", "let", "let", "let", "let", "str", "let", "let", "let"
        ]
    );
}

#[test]
fn lines_are_counted_through_strings_and_comments() {
    let source = Source::parse("a\n/* x\n y */ b\n\"p\nq\" c");
    let lines: Vec<(usize, String)> = source
        .tokens
        .into_iter()
        .filter(|token| token.string.is_none())
        .map(|token| (token.line, token.text))
        .collect();
    let expected = [(1, "a"), (3, "b"), (5, "c")].map(|(line, text)| (line, text.to_owned()));
    assert_eq!(lines, expected);
}

#[test]
fn use_trees_are_flattened() {
    let source =
        Source::parse("use std::{fs, io::{self, Read}, net::TcpStream as T};\nInstant::now()");
    let paths: Vec<String> = source
        .paths()
        .into_iter()
        .map(|(_, path)| path.join("::"))
        .collect();
    for path in [
        "std::fs",
        "std::io::self",
        "std::io::Read",
        "std::net::TcpStream",
        "Instant::now",
    ] {
        assert!(paths.iter().any(|it| it == path), "{path} in {paths:?}");
    }
}

#[test]
fn items_for_tests_are_left_out() {
    let source = Source::parse(
        "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { if c {} } }\n#[cfg(test)]\nuse d;\nfn e() {}",
    );
    let left = source.without_tests();
    let names: Vec<&str> = left
        .tokens
        .iter()
        .map(|it| it.text.as_str())
        .filter(|it| it.len() == 1 && it.is_ascii())
        .collect();
    assert!(names.contains(&"a"));
    assert!(names.contains(&"e"));
    for gone in ["b", "c", "d"] {
        assert!(!names.contains(&gone), "{gone}");
    }
}

#[test]
fn child_modules_are_found_with_their_paths() {
    let source = Source::parse(
        "mod a;\npub(crate) mod b;\n#[cfg(test)]\n#[path = \"a_test.rs\"]\nmod a_test;\nmod c { fn d() {} }",
    );
    let modules = source.child_modules();
    assert_eq!(
        modules,
        [("a", None), ("b", None), ("a_test", Some("a_test.rs"))]
    );
}

#[test]
fn unfinished_code_ends_and_does_not_panic() {
    for code in [
        "\"",
        "'",
        "b'",
        "r#\"",
        "/*",
        "use a::{",
        "'\\",
        "r",
        "mod",
        "#[cfg(test)]",
    ] {
        let source = Source::parse(code);
        let _ = (source.without_tests().paths(), source.child_modules());
    }
}
