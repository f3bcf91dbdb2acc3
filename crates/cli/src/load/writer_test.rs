use super::{Options, Stopped, Writer};
use crate::load::{record::Record, tally::Tally};
use brickyard_bench::Target;
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

/// What a scripted server does with a connection: the replies to a batch, one batch after another;
/// at the end the connection is closed.
type Script = Vec<&'static str>;

/// Serves one connection after the other. Each entry of a script answers everything that has come
/// when it is that entry's turn. Returns all that was heard.
fn serve(scripts: Vec<Script>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let mut heard = Vec::new();
        for script in scripts {
            let (mut stream, _) = listener.accept().unwrap();
            for replies in script {
                heard.push(hear(&mut stream));
                stream.write_all(replies.as_bytes()).unwrap();
            }
        }
        heard
    });
    (address, server)
}

fn hear(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 65536];
    let len = stream.read(&mut buffer).unwrap();
    String::from_utf8(buffer[..len].to_vec()).unwrap()
}

fn options(address: String) -> Options {
    Options {
        target: Target::resp(address),
        connections: 1,
        patience: Duration::from_secs(30),
        is_strict: false,
    }
}

fn record(key: &str, value: &str, line: u64) -> Record {
    Record {
        key: key.into(),
        value: value.into(),
        expire_ms: None,
        line,
    }
}

fn load(options: &Options, records: Vec<Record>) -> anyhow::Result<Tally> {
    let mut writer = Writer::open(options)?;
    for record in records {
        if let Err(Stopped) = writer.write(record) {
            break;
        }
    }
    let mut tally = Tally::default();
    writer.finish(&mut tally)?;
    Ok(tally)
}

#[test]
fn refusals_of_the_moment_are_sent_again() {
    let (address, server) = serve(vec![vec![
        "+OK\r\n-BUSY full\r\n-TRYAGAIN moving\r\n",
        "+OK\r\n+OK\r\n",
    ]]);
    let records = vec![
        record("a", "1", 1),
        record("b", "2", 2),
        record("c", "3", 3),
    ];
    let tally = load(&options(address), records).unwrap();
    assert_eq!((tally.stored, tally.retried), (3, 2));
    assert!(tally.is_complete());
    let heard = server.join().unwrap();
    assert!(!heard[1].contains("\r\na\r\n"), "{}", heard[1]);
    assert!(heard[1].contains("\r\nb\r\n") && heard[1].contains("\r\nc\r\n"));
}

#[test]
fn an_older_record_is_not_sent_after_a_newer_one_of_its_key() {
    let (address, server) = serve(vec![vec!["-BUSY full\r\n+OK\r\n"]]);
    let tally = load(
        &options(address),
        vec![record("a", "1", 1), record("a", "2", 2)],
    )
    .unwrap();
    assert_eq!((tally.stored, tally.retried), (2, 0));
    assert_eq!(server.join().unwrap().len(), 1);
}

#[test]
fn lasting_refusals_are_counted_with_the_servers_words() {
    let (address, server) = serve(vec![vec!["-OOM limit of 1 GB\r\n+OK\r\n-OOM limit\r\n"]]);
    let records = vec![
        record("a", "1", 1),
        record("b", "2", 2),
        record("c", "3", 3),
    ];
    let tally = load(&options(address), records).unwrap();
    assert_eq!((tally.stored, tally.refused["OOM"].count), (1, 2));
    assert_eq!(tally.refused["OOM"].first, "OOM limit of 1 GB");
    server.join().unwrap();
}

#[test]
fn strict_ends_at_the_first_refusal() {
    let (address, server) = serve(vec![vec!["-OOM limit\r\n"]]);
    let strict = Options {
        is_strict: true,
        ..options(address)
    };
    let message = load(&strict, vec![record("a", "1", 7)])
        .unwrap_err()
        .to_string();
    assert!(message.contains("record on line 7: OOM limit"), "{message}");
    server.join().unwrap();
}

#[test]
fn what_a_lost_connection_owes_is_sent_again() {
    let (address, server) = serve(vec![vec!["+OK\r\n"], vec!["+OK\r\n+OK\r\n"]]);
    let records = vec![
        record("a", "1", 1),
        record("b", "2", 2),
        record("c", "3", 3),
    ];
    let tally = load(&options(address), records).unwrap();
    assert_eq!((tally.stored, tally.reconnected), (3, 1));
    let heard = server.join().unwrap();
    assert!(!heard[1].contains("\r\na\r\n"), "{}", heard[1]);
}

#[test]
fn a_time_to_live_is_sent_along() {
    let (address, server) = serve(vec![vec!["+OK\r\n"]]);
    let expiring = Record {
        expire_ms: Some(1500),
        ..record("a", "1", 1)
    };
    load(&options(address), vec![expiring]).unwrap();
    assert!(server.join().unwrap()[0].ends_with("$2\r\nPX\r\n$4\r\n1500\r\n"));
}
