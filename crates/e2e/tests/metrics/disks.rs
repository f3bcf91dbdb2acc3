//! From metrics alone: how much disk is left, and that a disk does not answer; before, during and after.

use super::ask_rules;
use brickyard_e2e::cluster::http_get;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::promtool::RuleTrial;
use brickyard_e2e::scrape::Scrape;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::skip;
use brickyard_e2e::small_disk::SmallDisk;
use brickyard_torture::SlowDisk;

const DISK_MIB: u64 = 64;

fn page(server: &Server) -> Option<Scrape> {
    let page = http_get("127.0.0.1", server.http_port(), "/metrics", None);
    Some(Scrape::of(&page.ok()?))
}

/// What a node shows when this is so of it.
fn when(server: &Server, what: &str, is_so: impl Fn(&Scrape) -> bool) -> Vec<Option<Scrape>> {
    let page = wait_for(what, || page(server).filter(|page| is_so(page)));
    vec![Some(page)]
}

/// Part of the disk that is left, as a node shows it.
fn left(page: &Scrape) -> f64 {
    let of = |name| page.sum(name, &[("place", "brick0")]);
    let (free, size) = (
        of("brickyard_disk_available_bytes"),
        of("brickyard_disk_size_bytes"),
    );
    // Before the first look nothing is known.
    free.zip(size).map_or(-1.0, |(free, size)| free / size)
}

#[test]
fn room_on_the_disk_is_shown_as_it_goes_and_comes() {
    let Some(disk) = SmallDisk::mount("room on a disk, in metrics", DISK_MIB) else {
        return;
    };
    let server = Setup::brickyard(1)
        .folder(&disk.data())
        .arguments(&["--segment-bytes", "4MiB"])
        .start();
    let before = when(&server, "most of the disk to be left", |page| {
        left(page) > 0.8
    });
    let size = before[0].as_ref().and_then(|page| {
        let place = [("place", "data")];
        page.sum("brickyard_disk_size_bytes", &place)
    });
    assert_eq!(size, Some((DISK_MIB << 20) as f64));
    disk.fill();
    let during = when(&server, "nothing of the disk to be left", |page| {
        (0.0..0.01).contains(&left(page))
    });
    std::fs::remove_file(disk.ballast()).expect("removed");
    let after = when(&server, "most of the disk to be left again", |page| {
        left(page) > 0.8
    });
    let mut recording = RuleTrial::default();
    recording.add(before, 10, &[]);
    recording.add(during, 50, &["BrickyardDiskFilling", "BrickyardDiskFull"]);
    recording.add(after, 50, &[]);
    ask_rules(&recording, &["BrickyardDiskFilling", "BrickyardDiskFull"]);
}

/// The loop itself may be what waits for the disk: the page is there all the same.
#[test]
fn a_disk_that_does_not_answer_is_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = match SlowDisk::new(folder.path(), "disk") {
        Ok(disk) => disk,
        Err(error) => {
            skip::announce(
                "a disk that does not answer, in metrics",
                &error.to_string(),
            );
            return;
        }
    };
    let server = Setup::brickyard(1).folder(&disk.data()).start();
    let oldest = |page: &Scrape| {
        let orders = ["append", "sync"].into_iter();
        let oldest = orders.filter_map(|order| {
            page.sum("brickyard_store_oldest_order_seconds", &[("order", order)])
        });
        oldest.fold(0.0, f64::max)
    };
    let mut client = server.connect();
    client.must(&["SET", "k", "v"]);
    let before = when(&server, "the disk to have nothing to do", |page| {
        oldest(page) < 1.0
    });
    disk.stall().expect("it stands still");
    let writer = std::thread::spawn(move || client.try_call(&["SET", "k", "w"]));
    let during = wait_for("an order to be old", || {
        page(&server).filter(|page| oldest(page) > 2.0)
    });
    disk.go_on().expect("it goes on");
    let written = writer.join().expect("it ends");
    assert!(written.is_ok_and(|reply| reply.is_ok()), "nothing is lost");
    let after = when(&server, "the disk to have nothing to do again", |page| {
        oldest(page) < 1.0
    });
    let mut recording = RuleTrial::default();
    recording.add(before, 10, &[]);
    recording.add(vec![Some(during)], 10, &["BrickyardDiskStuck"]);
    recording.add(after, 10, &[]);
    ask_rules(&recording, &["BrickyardDiskStuck"]);
}
