use super::Format;
use std::path::Path;

#[test]
fn formats_are_told_by_name_or_by_content() {
    for (name, start, expected) in [
        ("people.csv", "x", Format::Csv),
        (
            "lists/deb.debian.org_main_binary-amd64_Packages.lz4",
            "",
            Format::Control,
        ),
        ("-", "Package: bash\nVersion: 5\n", Format::Control),
        ("-", "# list\nPackage: bash\n", Format::Control),
        ("events.jsonl", "{\"id\":1}\n", Format::Jsonl),
        (
            "-",
            "{\"key\":\"a\",\"value\":\"b\"}\n{\"key\"",
            Format::Dump,
        ),
        ("-", "id,name\n1,ann\n", Format::Csv),
        ("/usr/share/dict/words", "A\na\n", Format::Words),
        ("-", "", Format::Words),
    ] {
        assert_eq!(
            Format::detect(Path::new(name), start.as_bytes()),
            expected,
            "{name} {start}"
        );
    }
}
