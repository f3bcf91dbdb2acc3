use crate::accepted::Port;
use crate::harness::Node;
use crate::settings::Settings;
use brickyard_types::TableAttributes;

#[test]
fn settings_are_set_all_or_none() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    let failed = "-ERR CONFIG SET failed (possibly related to argument";
    for (request, error) in [
        (
            "timeout 7 maxclients 0",
            "'maxclients') - argument must be between 1 and 4294967295 inclusive",
        ),
        (
            "timeout 7 slowlog-log-slower-than -2",
            "'slowlog-log-slower-than') - argument must be between -1 and 9223372036854775807 inclusive",
        ),
        (
            "timeout 7 maxclients many",
            "'maxclients') - argument couldn't be parsed into an integer",
        ),
        ("timeout 7 Timeout 8", "'timeout') - duplicate parameter"),
        (
            "timeout 7 maxmemory 1 maxmemory 2",
            "'maxmemory') - duplicate parameter",
        ),
    ] {
        assert_eq!(
            node.call(client, &format!("CONFIG SET {request}")),
            format!("{failed} {error}")
        );
        assert_eq!(
            node.call(client, "CONFIG GET timeout"),
            "*2 $7 timeout $1 0",
            "after {request}"
        );
    }
    assert_eq!(
        node.call(client, "CONFIG SET TIMEOUT 7 maxclients 5"),
        "+OK"
    );
    assert_eq!(
        node.call(client, "CONFIG GET timeout maxclients"),
        "*4 $10 maxclients $1 5 $7 timeout $1 7"
    );
}

#[test]
fn bounds_are_what_the_documents_say() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, "CONFIG GET client-output-bytes-max"),
        "*2 $23 client-output-bytes-max $9 268435456"
    );
    let settings = &node.bricks[0].core.shared.settings;
    assert_eq!(Settings::load(&settings.pending_bytes_max), 64 << 20);
}
