use super::*;
use std::time::Duration;

/// A request with its bytes, its deadline and the end of its attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plain(Vec<u8>, Instant, Instant);

impl Request for Plain {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
    fn deadline(&self) -> Instant {
        self.1
    }
    fn attempt_deadline(&self) -> Instant {
        self.2
    }
}

const SILENCE: Duration = Duration::from_millis(40);

struct Fixture {
    now: Instant,
    connection: Connection<Plain>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            now: Instant::now(),
            connection: Connection::new(ReplyLimits::default(), SILENCE),
        }
    }

    fn at(&self, ms: u64) -> Instant {
        self.now + Duration::from_millis(ms)
    }

    /// A write: nobody sends it elsewhere, so its attempt ends with its deadline.
    fn plain(&self, bytes: &str, deadline_ms: u64) -> Plain {
        Plain(bytes.into(), self.at(deadline_ms), self.at(deadline_ms))
    }

    fn submit(&mut self, bytes: &str, deadline_ms: u64) {
        let request = self.plain(bytes, deadline_ms);
        self.connection.submit(request);
    }

    fn write_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let output = self.connection.poll_output(self.now).to_vec();
            if output.is_empty() {
                return all;
            }
            self.connection.on_written(output.len());
            all.extend(output);
        }
    }

    fn receive(&mut self, mut bytes: &[u8], ms: u64) {
        let now = self.at(ms);
        while !bytes.is_empty() {
            let space = self.connection.input_space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.connection.on_received(count, now);
        }
    }

    /// The replies that are there, each with the bytes of its request.
    fn replies(&mut self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        while let Some(incoming) = self.connection.poll_reply().expect("replies") {
            all.push(match incoming {
                Incoming::Reply(request, value) => {
                    let name = request
                        .map_or_else(String::new, |it| String::from_utf8(it.0).expect("text"));
                    (name, value)
                }
                Incoming::Push(value) => ("push".to_owned(), value),
            });
        }
        all
    }
}

#[test]
fn requests_of_one_turn_are_written_together_and_replies_paired_in_order() {
    let mut fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.submit(name, 1000);
    }
    assert_eq!(fixture.connection.poll_output(fixture.now), b"abc");
    fixture.write_all();
    fixture.receive(b"+x\r\n:2\r\n$-1\r", 1);
    let first = [
        ("a".to_owned(), Value::Simple(b"x".to_vec())),
        ("b".to_owned(), Value::Integer(2)),
    ];
    assert_eq!(fixture.replies(), first);
    fixture.receive(b"\n", 2);
    assert_eq!(fixture.replies(), [("c".to_owned(), Value::Null)]);
    assert!(fixture.connection.is_idle());
}

#[test]
fn replies_do_not_depend_on_where_the_stream_was_cut() {
    let stream = b"+x\r\n>2\r\n+invalidate\r\n_\r\n$5\r\nhello\r\n";
    for size in 1..stream.len() {
        let mut fixture = Fixture::new();
        fixture.submit("a", 1000);
        fixture.submit("b", 1000);
        fixture.write_all();
        let mut names = Vec::new();
        for piece in stream.chunks(size) {
            fixture.receive(piece, 1);
            names.extend(fixture.replies().into_iter().map(|(name, _)| name));
        }
        assert_eq!(names, ["a", "push", "b"]);
    }
}

#[test]
fn a_huge_string_arrives_whole_and_its_memory_is_given_back() {
    let mut fixture = Fixture::new();
    fixture.submit("a", 1000);
    fixture.write_all();
    let value = vec![7; 3 << 20];
    fixture.receive(format!("${}\r\n", value.len()).as_bytes(), 1);
    assert!(
        fixture.connection.input_space().len() <= 1 << 20,
        "a length is not believed"
    );
    fixture.receive(&value, 1);
    assert_eq!(fixture.replies(), []);
    fixture.receive(b"\r\n", 1);
    assert_eq!(fixture.replies(), [("a".to_owned(), Value::Bulk(value))]);
    assert!(fixture.connection.input_space().len() <= 1 << 20);
}

#[test]
fn what_answers_nothing_breaks_the_connection_with_its_text() {
    let mut fixture = Fixture::new();
    fixture.receive(b"-ERR max number of clients reached\r\n", 1);
    let garbage = fixture.connection.poll_reply().expect_err("nobody asked");
    assert!(garbage.to_string().contains("max number of clients"));
    let mut fixture = Fixture::new();
    fixture.submit("a", 1000);
    fixture.write_all();
    fixture.receive(b"HTTP/1.1 400 Bad Request\r\n", 1);
    assert!(matches!(
        fixture.connection.poll_reply(),
        Err(Garbage::Reply(_))
    ));
}

#[test]
fn a_broken_connection_tells_what_was_sent_from_what_was_not() {
    let mut fixture = Fixture::new();
    for name in ["aaaa", "bbbb", "cccc"] {
        fixture.submit(name, 1000);
    }
    fixture.connection.poll_output(fixture.now);
    fixture.connection.on_written(6);
    fixture.submit("dddd", 1000);
    let plain = |name: &str| fixture.plain(name, 1000);
    let expected = Lost {
        sent: vec![plain("aaaa")],
        unsent: vec![plain("bbbb"), plain("cccc"), plain("dddd")],
    };
    assert_eq!(fixture.connection.into_lost(), expected);
}

#[test]
fn most_of_a_queue_stays_waiting_when_nothing_is_taken() {
    let mut fixture = Fixture::new();
    let block = "x".repeat(100_000);
    for _ in 0..10 {
        fixture.submit(&block, 1000);
    }
    let count = fixture.connection.poll_output(fixture.now).len();
    assert!(count < 2 * OUTPUT_BYTES, "{count}");
    assert_eq!(fixture.write_all().len(), 1_000_000);
}

#[test]
fn a_late_request_is_given_up_and_its_reply_still_counted() {
    let mut fixture = Fixture::new();
    fixture.submit("late", 100);
    fixture.submit("patient", 1000);
    fixture.write_all();
    assert_eq!(fixture.connection.next_time(), Some(fixture.at(100)));
    assert_eq!(fixture.connection.take_expired(fixture.at(99)), []);
    let late = Expired::Late {
        request: fixture.plain("late", 100),
        is_silent: true,
    };
    assert_eq!(fixture.connection.take_expired(fixture.at(100)), [late]);
    assert_eq!(fixture.connection.next_time(), Some(fixture.at(1000)));
    fixture.receive(b"+one\r\n+two\r\n", 200);
    let names: Vec<String> = fixture
        .replies()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["", "patient"]);
    assert_eq!(fixture.connection.next_time(), None);
}

#[test]
fn a_request_that_has_not_left_by_its_deadline_never_leaves() {
    let mut fixture = Fixture::new();
    fixture.submit("unsent", 100);
    let expired = fixture.connection.take_expired(fixture.at(100));
    assert_eq!(expired, [Expired::Waiting(fixture.plain("unsent", 100))]);
    assert_eq!(fixture.write_all(), b"");
}

#[test]
fn patience_ends_only_on_a_silent_connection() {
    for hears in [true, false] {
        let mut fixture = Fixture::new();
        let read = Plain(b"read".to_vec(), fixture.at(100), fixture.at(50));
        fixture.submit("first", 1000);
        fixture.connection.submit(read.clone());
        fixture.write_all();
        if hears {
            fixture.receive(b"+ok\r\n", 20);
            fixture.replies();
        }
        let expired = fixture.connection.take_expired(fixture.at(50));
        if hears {
            assert_eq!(expired, [], "it is slow, not dead");
            // It may die later, with the answer still owed.
            assert_eq!(fixture.connection.next_time(), Some(fixture.at(60)));
            let expired = fixture.connection.take_expired(fixture.at(60));
            let is_first = true;
            assert_eq!(
                expired,
                [Expired::Silent {
                    request: read,
                    is_first
                }]
            );
        } else {
            // What the other side owes before it is what keeps it silent.
            let is_first = false;
            assert_eq!(
                expired,
                [Expired::Silent {
                    request: read,
                    is_first
                }]
            );
        }
    }
}

#[test]
fn a_short_silence_means_nothing() {
    let mut fixture = Fixture::new();
    let hasty = Plain(b"hasty".to_vec(), fixture.at(20), fixture.at(10));
    let patient = Plain(b"patient".to_vec(), fixture.at(1000), fixture.at(10));
    fixture.connection.submit(hasty.clone());
    fixture.connection.submit(patient.clone());
    fixture.write_all();
    assert_eq!(fixture.connection.take_expired(fixture.at(10)), []);
    let late = Expired::Late {
        request: hasty,
        is_silent: false,
    };
    assert_eq!(fixture.connection.take_expired(fixture.at(20)), [late]);
    assert_eq!(fixture.connection.next_time(), Some(fixture.at(40)));
    let silent = Expired::Silent {
        request: patient,
        is_first: false,
    };
    let expired = fixture.connection.take_expired(fixture.at(40));
    assert_eq!(expired, [Expired::Mute, silent]);
    assert_eq!(fixture.connection.take_expired(fixture.at(500)), []);
}
