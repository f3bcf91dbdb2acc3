use super::*;

#[test]
fn roles_are_read_and_written_back() {
    for (text, shown) in [
        ("storage,control", "\"storage,control\""),
        ("Gateway", "\"gateway\""),
        (" control , gateway ", "\"control,gateway\""),
        ("gateway,storage,control", "\"storage,control,gateway\""),
    ] {
        assert_eq!(NodeRoles::parse(text).unwrap().toml(), shown);
    }
    assert_eq!(NodeRoles::default().toml(), "\"storage,control\"");
    for text in ["", "storage,", "boss", "storage control"] {
        assert_eq!(
            NodeRoles::parse(text).unwrap_err(),
            "one or more of storage, control, gateway",
            "{text}"
        );
    }
}
