//! A full disk under write load: writes are refused in words, reads go on, nothing acknowledged is lost.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::Setup;
use brickyard_e2e::small_disk::SmallDisk;
use std::fs;

/// Size of the file system that is filled.
const DISK_MIB: u64 = 24;

/// Size of the file whose removal frees space.
const BALLAST_BYTES: usize = 8 << 20;

/// Size of each value written.
const VALUE_BYTES: usize = 16 << 10;

fn value(number: usize) -> Vec<u8> {
    let mut value = format!("value {number} ").into_bytes();
    value.resize(VALUE_BYTES, b'0' + u8::try_from(number % 10).unwrap_or(0));
    value
}

fn key(number: usize) -> String {
    format!("key:{number}")
}

/// Writes until a write is refused; the numbers of the acknowledged ones are added to `written`.
fn write_until_refused(client: &mut Client, written: &mut Vec<usize>) -> String {
    let first = written.len();
    for number in first..first + 10 * usize::try_from(DISK_MIB << 20).unwrap_or(0) / VALUE_BYTES {
        let reply = client.call(&[b"SET", key(number).as_bytes(), &value(number)]);
        if reply.is_error() {
            return reply.text();
        }
        written.push(number);
    }
    panic!(
        "{} values of {VALUE_BYTES} bytes fit into {DISK_MIB} MiB",
        written.len()
    );
}

fn assert_all_there(client: &mut Client, written: &[usize]) {
    for &number in written {
        let reply = client.call(&["GET", &key(number)]);
        assert_eq!(
            reply.as_bytes(),
            Some(&value(number)[..]),
            "{} was acknowledged",
            key(number)
        );
    }
}

fn survives_full_disk(table: &[&[&str]]) {
    let Some(disk) = SmallDisk::mount("full disk", DISK_MIB) else {
        return;
    };
    fs::write(disk.ballast(), vec![1; BALLAST_BYTES]).expect("the ballast fits");
    let mut server = Setup::brickyard(1)
        .folder(&disk.data())
        .arguments(&["--segment-bytes", "4MiB"])
        .start();
    let mut client = server.connect();
    for request in table {
        client.must(request);
    }

    let mut written = Vec::new();
    let refusal = write_until_refused(&mut client, &mut written);
    assert!(
        refusal.to_lowercase().contains("space") || refusal.to_lowercase().contains("disk"),
        "the refusal does not name the disk: {refusal}"
    );
    assert!(
        written.len() > 100,
        "only {} values were accepted",
        written.len()
    );
    let refused = written.len();
    assert_all_there(&mut client, &written);
    let reply = client.call(&["GET", &key(refused)]);
    assert!(reply.is_null(), "a refused write took effect: {reply}");

    fs::remove_file(disk.ballast()).expect("the ballast can be removed");
    wait_for("writes to go on once there is space", || {
        client
            .call(&["SET", "after", "space"])
            .is_ok()
            .then_some(())
    });
    let more = value(refused);
    assert!(
        client
            .call(&[b"SET", key(refused).as_bytes(), &more])
            .is_ok()
    );
    written.push(refused);
    assert_all_there(&mut client, &written);

    // Full once more, and then the process dies.
    write_until_refused(&mut client, &mut written);
    server.kill();
    server.restart();
    let mut client = server.connect();
    for request in table.iter().filter(|request| request[1] == "USE") {
        client.must(request);
    }
    assert_all_there(&mut client, &written);
    assert_eq!(client.call(&["GET", "after"]).text(), "space");
}

#[test]
fn full_disk_refuses_writes_and_loses_nothing() {
    survives_full_disk(&[]);
}

#[test]
fn full_disk_with_durability_fsync_refuses_writes_and_loses_nothing() {
    survives_full_disk(&[
        &["TABLE", "CREATE", "careful", "DURABILITY", "fsync"],
        &["TABLE", "USE", "careful"],
    ]);
}

/// Deleting must stay possible on a full disk, or nobody could make room.
#[test]
fn full_disk_still_accepts_deletes() {
    let Some(disk) = SmallDisk::mount("deletes on a full disk", DISK_MIB) else {
        return;
    };
    let mut server = Setup::brickyard(1)
        .folder(&disk.data())
        .arguments(&["--segment-bytes", "1MiB"])
        .start();
    let mut client = server.connect();
    let mut written = Vec::new();
    write_until_refused(&mut client, &mut written);
    let (removed, kept) = written.split_at(written.len() / 2);
    for &number in removed {
        let reply = client.call(&["DEL", &key(number)]);
        assert_eq!(
            reply.as_integer(),
            Some(1),
            "DEL on a full disk was answered with {reply}"
        );
    }
    wait_for("the cleaner to make room for a write", || {
        client
            .call(&["SET", "after", "cleaning"])
            .is_ok()
            .then_some(())
    });
    assert_all_there(&mut client, kept);
    server.kill();
    server.restart();
    let mut client = server.connect();
    assert_all_there(&mut client, kept);
    for &number in removed {
        assert!(
            client.call(&["GET", &key(number)]).is_null(),
            "a deleted key came back"
        );
    }
}
