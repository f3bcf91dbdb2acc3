use super::is_closed_output;
use anyhow::Context;
use std::io;

#[test]
fn a_closed_output_is_told_from_a_lost_connection() {
    let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
    let output = Err::<(), _>(broken()).context("writing");
    assert!(is_closed_output(&output.unwrap_err()));
    let connection = brickyard_bench::Error::ConnectionsLost {
        address: "127.0.0.1:1".into(),
        connections: 1,
        source: broken(),
    };
    assert!(!is_closed_output(&connection.into()));
    let other = io::Error::from(io::ErrorKind::NotFound);
    assert!(!is_closed_output(&other.into()));
}
