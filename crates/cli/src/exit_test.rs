use super::{is_closed_output, message};
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

#[test]
fn a_cause_that_is_quoted_is_not_said_again() {
    let error = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let quoting = brickyard_bench::Error::Connect {
        address: "here:1".to_owned(),
        source: error(),
    };
    let quoting = anyhow::Error::from(quoting).context("loading f");
    assert_eq!(
        message(&quoting),
        format!(
            "loading f: cannot connect to here:1: {}; is the server running there?",
            error()
        )
    );
    let plain = anyhow::Error::from(error()).context("cannot open f");
    assert_eq!(message(&plain), format!("cannot open f: {}", error()));
}
