//! What a service manager is told.

use super::*;

#[test]
fn what_is_told_is_one_line() {
    let told = one_line("waits for\nMAINPID=1\r\nmore");
    assert_eq!(told, "waits for MAINPID=1  more");
}

#[test]
fn a_node_says_what_it_waits_for_until_it_serves() {
    let lease = || Some("a lease".to_owned());
    assert_eq!(words(Phase::Starting, None), "Starting: reading its logs");
    assert_eq!(
        words(Phase::Starting, lease()),
        "Starting: waits for a lease"
    );
    assert_eq!(
        words(Phase::Waiting, lease()),
        "Starting: waits for a lease"
    );
    assert_eq!(words(Phase::Ready, None), "Serving");
    assert_eq!(words(Phase::Ready, lease()), "Waits for a lease");
}

#[test]
fn sockets_without_a_file_are_told_too() {
    use std::os::linux::net::SocketAddrExt as _;
    let name = format!("brickyard-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    send(OsStr::new(&format!("@{name}")), "READY=1\n").unwrap();
    let mut message = [0; 64];
    let len = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..len], b"READY=1\n");
}
