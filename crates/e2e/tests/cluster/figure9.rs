//! A replica comes back while clients write, as in figure 9 of the paper on distributed data structures.

use brickyard_e2e::figure9::rejoin;
use std::time::Duration;

#[test]
fn writes_go_on_while_a_replica_catches_up() {
    let report = rejoin(50_000, Duration::ZERO).report.checked();
    assert!(report.checked.is_ok_and(|it| it.operations > 0));
}
