use super::{Options, Stopped, Writer};
use crate::load::{
    record::{Expiry, Record},
    tally::Tally,
};
use brickyard_bench::Target;
use brickyard_wire::{ReplyDecoder, ReplyLimits, ReplyStep, Value};
use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// Instead of an answer the connection is closed.
const HANG_UP: &str = "";

/// What a server that is none was sent: the words of every SET.
type Heard = Arc<Mutex<Vec<Vec<String>>>>;

/// Serves; the first SETs get these answers, and all later ones `OK`.
fn serve(answers: &[&'static str]) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers: Arc<Mutex<VecDeque<_>>> = Arc::new(Mutex::new(answers.iter().copied().collect()));
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let (answers, log) = (Arc::clone(&answers), Arc::clone(&log));
            thread::spawn(move || converse(stream, &answers, &log));
        }
    });
    (address, heard)
}

fn converse(mut stream: TcpStream, answers: &Mutex<VecDeque<&'static str>>, log: &Heard) {
    let mut input = Vec::new();
    let mut chunk = [0; 65536];
    loop {
        while let Some(words) = request(&mut input) {
            let answer = match words[0].as_str() {
                "HELLO" => "%1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n",
                "SET" => {
                    log.lock().unwrap().push(words);
                    answers.lock().unwrap().pop_front().unwrap_or("+OK\r\n")
                }
                _ => "-ERR This instance has cluster support disabled\r\n",
            };
            if answer == HANG_UP {
                return;
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(count) => input.extend_from_slice(&chunk[..count]),
        }
    }
}

/// The first request of the input, if it is there as a whole. (A request is an array of strings.)
fn request(input: &mut Vec<u8>) -> Option<Vec<String>> {
    let step = ReplyDecoder::new(ReplyLimits::default()).decode(input);
    let ReplyStep::Reply { consumed, value } = step.unwrap() else {
        return None;
    };
    input.drain(..consumed);
    let text = |word: &Value| String::from_utf8(word.bytes().unwrap().to_vec()).unwrap();
    Some(value.elements().unwrap().iter().map(text).collect())
}

fn options(address: String) -> Options {
    Options {
        target: Target::resp(address),
        others: Vec::new(),
        connections: 1,
        patience: Duration::from_secs(30),
        is_strict: false,
        can_resume: true,
    }
}

fn record(key: &str, value: &str, line: u64) -> Record {
    Record {
        key: key.into(),
        value: value.into(),
        expiry: None,
        line,
        is_payload: false,
    }
}

fn abc() -> Vec<Record> {
    vec![
        record("a", "1", 1),
        record("b", "2", 2),
        record("c", "3", 3),
    ]
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

/// The values that were sent for a key, in the order in which they came.
fn values_of(heard: &Heard, key: &str) -> Vec<String> {
    let heard = heard.lock().unwrap();
    let of_key = heard.iter().filter(|words| words[1] == key);
    of_key.map(|words| words[2].clone()).collect()
}

#[test]
fn refusals_of_the_moment_are_sent_again() {
    let (address, heard) = serve(&["+OK\r\n", "-BUSY full\r\n", "-TRYAGAIN moving\r\n"]);
    let tally = load(&options(address), abc()).unwrap();
    assert_eq!(tally.stored, 3);
    assert!(tally.is_complete());
    let times = |key| values_of(&heard, key).len();
    assert_eq!((times("a"), times("b"), times("c")), (1, 2, 2));
}

#[test]
fn newer_record_of_a_key_waits_until_the_older_one_is_stored() {
    let (address, heard) = serve(&["-BUSY full\r\n", "-UNKNOWNRESULT lost\r\n"]);
    let records = vec![record("a", "1", 1), record("a", "2", 2)];
    let tally = load(&options(address), records).unwrap();
    assert_eq!((tally.stored, tally.retried), (2, 1));
    assert_eq!(values_of(&heard, "a"), ["1", "1", "1", "2"]);
}

#[test]
fn lasting_refusals_are_counted_with_the_servers_words() {
    let (address, _) = serve(&["-OOM limit of 1 GB\r\n", "+OK\r\n", "-OOM limit\r\n"]);
    let tally = load(&options(address), abc()).unwrap();
    assert_eq!((tally.stored, tally.refused["OOM"].count), (1, 2));
    assert_eq!(tally.refused["OOM"].first, "OOM limit of 1 GB");
}

#[test]
fn strict_ends_at_the_first_refusal() {
    let (address, _) = serve(&["-OOM limit\r\n"]);
    let strict = Options {
        is_strict: true,
        ..options(address)
    };
    let error = load(&strict, vec![record("a", "1", 7)]).unwrap_err();
    let message = format!("{error:#}");
    assert!(message.contains("record on line 7: OOM limit"), "{message}");
}

#[test]
fn what_a_lost_connection_owes_is_sent_again() {
    let (address, heard) = serve(&["+OK\r\n", HANG_UP]);
    let tally = load(&options(address), abc()).unwrap();
    assert_eq!(tally.stored, 3);
    assert!(tally.retried > 0);
    assert_eq!(values_of(&heard, "a").len(), 1);
    assert!(values_of(&heard, "b").len() == 2);
}

#[test]
fn node_that_is_gone_is_passed_over_for_another() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (address, _) = serve(&[]);
    let two = Options {
        others: vec![address],
        ..options(gone.to_string())
    };
    assert_eq!(load(&two, abc()).unwrap().stored, 3);
    let message = load(&options(gone.to_string()), abc()).unwrap_err();
    assert!(
        format!("{message:#}").contains(&gone.to_string()),
        "{message:#}"
    );
}

#[test]
fn a_time_to_live_is_sent_along() {
    let (address, heard) = serve(&[]);
    let expiring = Record {
        expiry: Some(Expiry::In(1500)),
        ..record("a", "1", 1)
    };
    load(&options(address), vec![expiring]).unwrap();
    assert_eq!(heard.lock().unwrap()[0], ["SET", "a", "1", "PX", "1500"]);
}

/// A connection that breaks takes thousands of records with it. They are sent again together: were each of them
/// to wait for itself, most would run out of patience.
#[test]
fn records_that_fail_together_are_sent_again_together() {
    const RECORDS: u64 = 3000;
    let (address, heard) = serve(&["-UNKNOWNRESULT lost\r\n"; RECORDS as usize]);
    let records: Vec<Record> = (0..RECORDS)
        .map(|line| record(&format!("k{line}"), "v", line))
        .collect();
    let tally = load(&options(address), records).unwrap();
    assert_eq!((tally.stored, tally.retried), (RECORDS, RECORDS));
    assert_eq!(heard.lock().unwrap().len() as u64, 2 * RECORDS);
}

#[test]
fn load_that_ends_early_says_from_where_it_can_go_on() {
    let (address, _) = serve(&["+OK\r\n", "-OOM no room\r\n"]);
    let strict = Options {
        is_strict: true,
        ..options(address)
    };
    let error = format!("{:#}", load(&strict, abc()).unwrap_err());
    assert!(error.contains("go on with --from-line 2"), "{error}");
    let (address, _) = serve(&["+OK\r\n", "-OOM no room\r\n"]);
    let whole = Options {
        is_strict: true,
        can_resume: false,
        ..options(address)
    };
    let error = format!("{:#}", load(&whole, abc()).unwrap_err());
    assert!(!error.contains("--from-line"), "{error}");
}
