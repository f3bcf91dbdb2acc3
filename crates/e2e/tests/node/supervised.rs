//! Under a service manager such as systemd: it is told when the node serves, what it does meanwhile, and that it stops.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::port::free_block;
use brickyard_e2e::process::Process;
use brickyard_e2e::server::program;
use std::os::unix::net::UnixDatagram;

/// From the node's port to its port for other nodes, within the block of ports that it has.
const PEER_OFFSET: u16 = 8;

/// Waits until all of these lines were told; every line that was told meanwhile.
fn hear(socket: &UnixDatagram, wanted: &[&str]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut message = [0; 4096];
    while !wanted.iter().all(|it| told.iter().any(|line| line == it)) {
        let len = socket
            .recv(&mut message)
            .unwrap_or_else(|error| panic!("{wanted:?} were not all told, but {told:?}: {error}"));
        let text = String::from_utf8_lossy(&message[..len]);
        told.extend(text.lines().map(ToOwned::to_owned));
    }
    told
}

#[test]
fn service_manager_is_told_that_the_node_serves_and_that_it_stops() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let path = scratch.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket to be told at");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket can have a time limit");
    let port = free_block(PEER_OFFSET);
    let mut command = program();
    command
        .args(["server", "--bricks", "1", "--http", "off"])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(["--peer-port", &(port + PEER_OFFSET).to_string()])
        .arg("--data")
        .arg(scratch.path().join("data"))
        .env("NOTIFY_SOCKET", &path);
    let mut process = Process::start(&mut command, &scratch.path().join("server.log"));
    let told = hear(&socket, &["READY=1", "STATUS=Serving"]);
    assert!(!told.contains(&"STOPPING=1".to_owned()), "{told:?}");
    assert_eq!(Client::connect(port).line("PING").text(), "PONG");
    process.signal("TERM");
    let told = hear(
        &socket,
        &["STOPPING=1", "STATUS=Stopping: syncing the logs"],
    );
    assert!(!told.contains(&"READY=1".to_owned()), "{told:?}");
    assert!(process.wait().success(), "{}", process.output());
}
