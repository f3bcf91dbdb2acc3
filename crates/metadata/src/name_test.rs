use super::*;

#[test]
fn usual_names_are_good() {
    for name in [
        "default",
        "1",
        "orders_2024",
        "a.b-c",
        "_",
        &"x".repeat(128),
    ] {
        assert_eq!(check(name), Ok(()), "{name}");
    }
}

#[test]
fn names_that_would_need_quoting_are_refused() {
    for name in [
        "",
        " ",
        "a b",
        "é",
        "-x",
        ".x",
        "a/b",
        "a\nb",
        &"x".repeat(129),
    ] {
        assert!(check(name).is_err(), "{name:?}");
    }
}

#[test]
fn refusal_shows_little_of_a_long_name_and_no_control_characters() {
    let text = check(&format!("a\r\n{}", "x".repeat(1_000)))
        .unwrap_err()
        .to_string();
    assert!(text.starts_with("table name 'a\\r\\nxxx"), "{text}");
    assert!(text.len() < 250, "{text}");
}

#[test]
fn databases_are_tables() {
    assert_eq!(database_table(0).as_deref(), Some("default"));
    assert_eq!(database_table(1).as_deref(), Some("1"));
    assert_eq!(database_table(15).as_deref(), Some("15"));
    assert_eq!(database_table(16), None);
}
