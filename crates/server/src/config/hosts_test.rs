//! Lists of nodes, and the ports beside the ones that are named.

use super::*;
use crate::config::Fields;

fn node(text: &str) -> HostPort {
    HostPort::parse(text).expect("host:port")
}

#[test]
fn hosts_are_read_and_written_alike() {
    let hosts = HostPorts::parse("node1:6379, 10.0.0.2:7000,[::1]:7001,").expect("a list");
    assert_eq!(
        hosts.0,
        [
            node("node1:6379"),
            node("10.0.0.2:7000"),
            node("[::1]:7001")
        ]
    );
    assert_eq!(hosts.toml(), r#""node1:6379,10.0.0.2:7000,[::1]:7001""#);
    assert_eq!(HostPorts::parse(""), Ok(HostPorts::default()));
    for wrong in [
        "node1",
        "node1:",
        ":1",
        "a:0",
        "a:70000",
        "::1:5",
        "redis://a:1",
    ] {
        assert!(HostPorts::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn peers_are_as_far_from_their_node_port_as_this_nodes_own() {
    let mut fields = Fields::default();
    assert_eq!(fields.peer_of(&node("a:7000")).port, 17_000);
    assert_eq!(fields.peer_of(&node("a:60000")).port, 50_000);
    fields.peer_port = 6500;
    assert_eq!(fields.peer_of(&node("a:7000")).port, 7121);
}

#[test]
fn port_for_nodes_is_not_opened_beside_passwords_unless_asked_for() {
    let mut fields = Fields::default();
    let port = |fields: &Fields, has_users| fields.peer_address(has_users).map(|at| at.port());
    assert_eq!(port(&fields, false), Some(16_379));
    assert_eq!(port(&fields, true), None);
    fields.peer_cert = "n.crt".to_owned();
    assert_eq!(port(&fields, true), Some(16_379));
    fields.peer_cert = String::new();
    fields.listen = "10.0.0.1:6379".parse().expect("an address");
    assert_eq!(port(&fields, true), None);
    fields.join = HostPorts(vec![node("10.0.0.2:6379")]);
    assert_eq!(port(&fields, true), Some(16_379));
    fields.join = HostPorts::default();
    fields.peer_port = 5000;
    assert_eq!(port(&fields, true), Some(5000));
}
