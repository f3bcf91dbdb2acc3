use super::*;

#[test]
fn version_is_recognized_in_what_programs_say() {
    assert!(is_version(
        "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64",
        "7.0"
    ));
    assert!(is_version("redis-cli 7.0.15", "7.0"));
    assert!(is_version("redis-benchmark 7.0", "7.0"));
    assert!(!is_version("redis-cli 7.2.4", "7.0"));
    assert!(!is_version("Redis server v=17.0.1 sha=7", "7.0"));
    assert!(!is_version("redis-cli 7.01.0", "7.0"));
    assert!(!is_version("", "7.0"));
}

#[test]
fn every_client_is_pinned() {
    for language in [
        Language::Go,
        Language::Java,
        Language::Node,
        Language::Python,
    ] {
        let pins = language.sources().join(language.pins());
        assert!(pins.is_file(), "{}", pins.display());
    }
    let python =
        std::fs::read_to_string(Language::Python.sources().join("requirements.txt")).unwrap();
    for line in python
        .lines()
        .filter(|it| !it.is_empty() && !it.starts_with('#'))
    {
        assert!(line.contains("=="), "{line} pins no version");
    }
}
