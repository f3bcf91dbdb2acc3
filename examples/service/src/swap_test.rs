use super::*;
use brickyard_client::{Client, Options};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a server of one key does with the next `SET`s, the first one first; then it does what it is told.
#[derive(Clone, Copy)]
enum Mishap {
    /// It is executed, and the answer says that nobody knows.
    DoneAndLost,
    /// The same, and it is not executed.
    NotDoneAndLost,
    /// It is executed, nobody knows, and somebody else stores another value.
    DoneLostAndReplaced,
    /// It is refused, and that is told.
    Refused,
}

/// A server of one key, and what it holds.
struct Server {
    address: String,
    held: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Server {
    fn start(held: Option<&str>, mishaps: &[Mishap]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let held = Arc::new(Mutex::new(held.map(|it| it.as_bytes().to_vec())));
        let mishaps: Vec<Mishap> = mishaps.iter().rev().copied().collect();
        let mishaps = Arc::new(Mutex::new(mishaps));
        let shared = Arc::clone(&held);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (held, mishaps) = (Arc::clone(&shared), Arc::clone(&mishaps));
                // A client that goes away ends its connection's thread.
                std::thread::spawn(move || stream.map(|it| answer(it, &held, &mishaps)));
            }
        });
        Self { address, held }
    }

    async fn swap(&self, old: Option<&str>, new: &str) -> Result<bool, Error> {
        let client = Client::connect(Options::new([self.address.clone()])).await?;
        let table = client.home_table();
        let old = old.map(str::as_bytes);
        swap(&table, "key", old, new.as_bytes(), None).await
    }

    fn holds(&self) -> Option<String> {
        let held = self.held.lock().expect("no panic").clone();
        held.map(|it| String::from_utf8(it).expect("text"))
    }
}

fn answer(
    stream: TcpStream,
    held: &Mutex<Option<Vec<u8>>>,
    mishaps: &Mutex<Vec<Mishap>>,
) -> std::io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    loop {
        let words = request(&mut input)?;
        let mut held = held.lock().expect("no panic");
        let reply = match words[0].as_slice() {
            b"HELLO" => "%1\r\n+mode\r\n+standalone\r\n".to_owned(),
            b"GET" => match &*held {
                Some(value) => {
                    let value = String::from_utf8_lossy(value);
                    format!("${}\r\n{value}\r\n", value.len())
                }
                None => "_\r\n".to_owned(),
            },
            b"SET" => {
                let fits = match words.get(3).map(Vec::as_slice) {
                    Some(b"NX") => held.is_none(),
                    _ => *held == words.get(4).cloned(),
                };
                let mishap = mishaps.lock().expect("no panic").pop();
                let is_done = !matches!(mishap, Some(Mishap::NotDoneAndLost | Mishap::Refused));
                if fits && is_done {
                    *held = Some(words[2].clone());
                }
                match mishap {
                    Some(Mishap::Refused) => "-OOM the table is full\r\n",
                    Some(mishap) => {
                        if matches!(mishap, Mishap::DoneLostAndReplaced) {
                            *held = Some(b"another".to_vec());
                        }
                        "-UNKNOWNRESULT the disk is slow\r\n"
                    }
                    None if fits => "+OK\r\n",
                    None => "_\r\n",
                }
                .to_owned()
            }
            // No maps, no ids.
            _ => "-ERR unknown command\r\n".to_owned(),
        };
        output.write_all(reply.as_bytes())?;
    }
}

fn request(input: &mut impl BufRead) -> std::io::Result<Vec<Vec<u8>>> {
    let number = |input: &mut dyn BufRead| -> std::io::Result<usize> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        line[1..].trim().parse().map_err(std::io::Error::other)
    };
    let count = number(input)?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let mut word = vec![0; number(input)? + 2];
        input.read_exact(&mut word)?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Ok(words)
}

#[tokio::test]
async fn value_is_stored_where_the_old_one_is() {
    let server = Server::start(None, &[]);
    assert_eq!(server.swap(None, "one").await, Ok(true));
    assert_eq!(server.swap(None, "two").await, Ok(false));
    assert_eq!(server.swap(Some("one"), "two").await, Ok(true));
    assert_eq!(server.swap(Some("one"), "three").await, Ok(false));
    assert_eq!(server.holds().as_deref(), Some("two"));
}

#[tokio::test]
async fn lost_answer_is_settled_by_what_is_there() {
    for mishaps in [
        &[Mishap::DoneAndLost][..],
        &[Mishap::NotDoneAndLost],
        &[Mishap::NotDoneAndLost, Mishap::DoneAndLost],
        &[Mishap::DoneAndLost, Mishap::Refused],
    ] {
        let server = Server::start(Some("old"), mishaps);
        assert_eq!(server.swap(Some("old"), "new").await, Ok(true));
        assert_eq!(server.holds().as_deref(), Some("new"));
    }
}

#[tokio::test]
async fn what_cannot_be_known_is_not_claimed() {
    let server = Server::start(Some("old"), &[Mishap::DoneLostAndReplaced]);
    let told = server.swap(Some("old"), "new").await;
    assert!(
        matches!(told, Err(Error::UnknownOutcome { .. })),
        "{told:?}"
    );
    let server = Server::start(Some("old"), &[Mishap::NotDoneAndLost; 3]);
    let told = server.swap(Some("old"), "new").await;
    assert!(
        matches!(told, Err(Error::UnknownOutcome { .. })),
        "{told:?}"
    );
}

#[tokio::test]
async fn refusal_is_passed_on_as_what_it_is() {
    let server = Server::start(Some("old"), &[Mishap::Refused]);
    let told = server.swap(Some("old"), "new").await;
    assert!(told.as_ref().is_err_and(Error::is_not_executed), "{told:?}");
    assert_eq!(server.holds().as_deref(), Some("old"));
}
