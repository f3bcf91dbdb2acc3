//! `SAVE`: a start after it reads no more of a `disk` table's log than the hint files.

use brickyard_server::config::{Config, Fields, HttpListen};
use brickyard_server::{RunningNode, Signals};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BRICKS: u32 = 2;
const KEYS: usize = 2000;

fn start(data: &Path) -> RunningNode {
    let fields = Fields {
        listen: "127.0.0.1:0".parse().expect("an address"),
        http: HttpListen::Off,
        data: data.display().to_string(),
        bricks: BRICKS,
        ..Fields::default()
    };
    let config = Config {
        fields,
        ..Config::default()
    };
    RunningNode::start(&config, Signals::Ignore).expect("the node starts")
}

/// Sends commands, one a line, and returns a line of reply for each.
fn call(node: &RunningNode, commands: &str) -> Vec<String> {
    let stream = TcpStream::connect(node.addresses().node).expect("connected");
    let timeout = Some(Duration::from_secs(30));
    stream.set_read_timeout(timeout).expect("a timeout");
    let mut stream = BufReader::new(stream);
    let input = commands.replace('\n', "\r\n") + "\r\n";
    stream.get_mut().write_all(input.as_bytes()).expect("sent");
    let replies = stream.lines().take(commands.lines().count());
    replies.map(|line| line.expect("a reply")).collect()
}

fn stop(node: RunningNode) {
    node.stopper().stop();
    node.wait();
}

/// Segments with their footers, in order, and whether each has a hint file.
fn sealed(data: &Path) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for brick in 0..BRICKS {
        let folder = data.join(format!("brick-{brick}"));
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_segment = path.extension().is_some_and(|it| it == "seg");
            if is_segment
                && std::fs::read(&path)
                    .expect("readable")
                    .ends_with(b"BRKYSEAL")
            {
                let has_hint = path.with_extension("hint").exists();
                found.push((path, has_hint));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn start_after_a_save_reads_hint_files_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let node = start(data);
    let mut commands = "TABLE CREATE d MEDIUM disk\nTABLE USE d".to_owned();
    for number in 0..KEYS {
        commands += &format!("\nSET key:{number} {}", "v".repeat(100));
    }
    commands += "\nSAVE";
    let replies = call(&node, &commands);
    assert!(replies.iter().all(|reply| reply == "+OK"), "{replies:?}");
    stop(node);

    let segments = sealed(data);
    assert_eq!(segments.len(), BRICKS as usize, "one a brick: {segments:?}");
    for (path, has_hint) in segments {
        assert!(has_hint, "{} has none", path.display());
        // Whoever reads it will find this.
        let mut bytes = std::fs::read(&path).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).expect("writable");
    }
    let node = start(data);
    let replies = call(&node, "TABLE USE d\nDBSIZE");
    assert_eq!(replies, ["+OK".to_owned(), format!(":{KEYS}")]);
    stop(node);
}
