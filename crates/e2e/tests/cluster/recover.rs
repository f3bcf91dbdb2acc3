//! Recovery by force: an operator goes on from what is left, and is told first what that lacks (rule
//! `forced recovery begins a generation`).

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::process::Finished;
use brickyard_e2e::server::brickyard;
use std::fs;

const KEYS: usize = 60;

/// Runs `brickyard table recover t`.
fn recover(address: &str, more: &[&str]) -> Finished {
    let arguments = ["table", "recover", "t", "--address", address];
    brickyard(&[&arguments[..], more].concat())
}

/// What recovery comes to, once it is known who is lost and bricks were asked what they hold.
fn told(address: &str, more: &[&str]) -> Finished {
    wait_for("word of what would be lost", || {
        let finished = recover(address, more);
        let is_told = finished.status.success() || finished.text().contains("nothing was done");
        is_told.then_some(finished)
    })
}

#[test]
fn what_is_left_is_gone_on_from_when_an_operator_says_so() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").unwrap();
    for key in 0..KEYS {
        let reply = client.call(&["SET", &format!("key{key}"), &format!("value {key}")]);
        assert_eq!(reply.text(), "OK");
    }
    let [gone, left] = cluster.holders("t", "key0").unwrap()[..] else {
        panic!("two replicas");
    };
    let other = 3 - gone - left;
    let address = format!("127.0.0.1:{}", cluster.port(other));
    let served = recover(&address, &[]);
    assert!(!served.status.success());
    let text = served.text();
    assert!(text.contains("no partition that is not served"), "{text}");

    // Two machines stop at once. One never comes back; the other has rebooted, so its log may lack its end.
    cluster.kill(gone);
    cluster.kill(left);
    let boot = cluster.data(left).join("BOOT");
    let text = fs::read_to_string(&boot).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(&boot, format!("boot of-another-start\n{rest}")).unwrap();
    cluster.launch(left);

    // The loss is told, and nothing is done.
    for _ in 0..2 {
        let finished = told(&address, &[]);
        let text = finished.text();
        assert!(
            finished.status.success(),
            "the plan is what was asked for: {text}"
        );
        assert!(text.contains("nothing was done"), "{text}");
        assert!(text.contains("its end may be missing"), "{text}");
        assert!(
            text.contains("; no answer from: "),
            "who is missing is named: {text}"
        );
        assert!(text.contains("CONFIRM t"), "{text}");
    }
    // Nor for another table's name, nor for what is no partition.
    let finished = recover(&address, &["--confirm", "u"]);
    assert!(!finished.status.success(), "{}", finished.text());
    let finished = recover(&address, &["everything"]);
    assert!(!finished.status.success(), "{}", finished.text());
    let finished = told(&address, &[]);
    assert!(finished.text().contains("nothing was done"));

    let finished = told(&address, &["--confirm", "t"]);
    assert!(finished.status.success(), "{}", finished.text());
    let mut client = cluster.table(other, "t").unwrap();
    for key in 0..KEYS {
        let name = format!("key{key}");
        wait_for("every key that the log had", || {
            let reply = client.try_call(&["GET", &name]).ok()?;
            (reply.text() == format!("value {key}")).then_some(())
        });
    }

    // Whoever comes back after all is filled anew.
    cluster.launch(gone);
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", 2);
    let finished = brickyard(&["table", "digest", "t", "--address", &address]);
    let text = finished.text();
    assert!(finished.status.success(), "{text}");
    assert!(text.contains("16 equal, 0 behind, 0 differ"), "{text}");
}
