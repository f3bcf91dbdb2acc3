use super::*;

#[test]
fn a_script_says_what_it_needs() {
    assert_eq!(Shebang::parse(b"return 1"), Ok(None));
    assert_eq!(
        Shebang::parse(b"#!lua\nreturn 1"),
        Ok(Some(Shebang::default()))
    );
    let shebang = Shebang::parse(b"#!lua flags=no-writes,allow-stale\nreturn 1");
    assert!(shebang.unwrap().unwrap().no_writes);
    let shebang = Shebang::parse(b"#!lua flags=allow-oom \nreturn 1")
        .unwrap()
        .unwrap();
    assert!(shebang.allow_oom && !shebang.no_writes);
}

#[test]
fn what_is_not_known_is_refused() {
    for (body, reason) in [
        ("#!lua", "Invalid script shebang"),
        (
            "#!python\nx",
            "Unexpected engine in script shebang: #!python",
        ),
        ("#!lua name=x\nx", "Unknown lua shebang option: name=x"),
        (
            "#!lua flags=fast\nx",
            "Unexpected flag in script shebang: fast",
        ),
    ] {
        let error = Shebang::parse(body.as_bytes()).unwrap_err();
        assert_eq!(error, format!("ERR {reason}"));
    }
}
