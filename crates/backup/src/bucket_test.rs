use super::*;
use crate::{place::Place, repository::Repository};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A server that speaks as S3 does, of the tests' Python environment (`.ci/clients`).
struct Server {
    process: Child,
    endpoint: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn server() -> Option<Server> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched = root.join("target/clients-python");
    let pinned = fs::read(root.join("crates/e2e/clients/python/requirements.txt")).unwrap();
    // Only the version that is pinned now.
    if fs::read(fetched.join("installed")).ok() != Some(pinned) {
        eprintln!("skipped: object storage over HTTP: moto is not fetched; run .ci/clients");
        return None;
    }
    let program = fetched.join("bin/moto_server");
    let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?;
    let process = Command::new(program)
        .args(["-H", "127.0.0.1", "-p", &port.port().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server {
        process,
        endpoint: format!("http://{port}"),
    };
    let until = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(port).is_err() {
        assert!(Instant::now() < until, "moto does not listen");
        thread::sleep(Duration::from_millis(50));
    }
    Some(server)
}

fn options(server: &Server) -> impl Iterator<Item = (String, String)> {
    [
        ("AWS_ENDPOINT_URL", server.endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "knows"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ALLOW_HTTP", "true"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
}

/// An empty bucket is made with a request that needs no signature here.
fn make_bucket(server: &Server, name: &str) {
    let address = server.endpoint.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "PUT /{name} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn objects_are_stored_whole_and_never_replaced() {
    let Some(server) = server() else { return };
    make_bucket(&server, "backups");
    let bucket = Bucket::open_with("s3://backups/of/people", options(&server)).unwrap();
    let place = Place::Bucket(bucket);
    let repository = Repository::create(&place).unwrap();
    assert!(repository.manifests().unwrap().is_empty());
    // More than one piece, and one that is small.
    let large: Vec<u8> = (0..PIECE_BYTES * 2 + 17)
        .map(|it| (it * 7 % 251) as u8)
        .collect();
    for (partition, bytes) in [(1, &large[..]), (2, b"small")] {
        let mut file = repository.new_part("first", partition).unwrap();
        file.out.write_all(bytes).unwrap();
        let name = file.finish().unwrap();
        assert_eq!(name, format!("parts/first/{partition}.part"));
        let mut back = Vec::new();
        repository
            .part(&name)
            .unwrap()
            .read_to_end(&mut back)
            .unwrap();
        assert!(back == bytes, "partition {partition}");
        let again = repository.new_part("first", partition).err().unwrap();
        assert!(again.to_string().contains("there already"), "{again}");
    }
    // Only what is at the top is listed.
    let mut file = place.create("note.txt".to_owned()).unwrap();
    file.out.write_all(b"x").unwrap();
    file.finish().unwrap();
    assert_eq!(place.names().unwrap(), ["note.txt"]);
    // What another has stored meanwhile is not replaced.
    let mut late = place.create("late.json".to_owned()).unwrap();
    late.out.write_all(b"mine").unwrap();
    let mut first = place.create("late.json".to_owned()).unwrap();
    first.out.write_all(b"theirs").unwrap();
    first.finish().unwrap();
    let error = format!("{:#}", late.finish().unwrap_err());
    assert!(error.contains("there already"), "{error}");
    assert_eq!(place.read("late.json").unwrap(), b"theirs");
    // What is not there is told, with its name.
    let error = format!("{:#}", place.open("parts/first/3.part").err().unwrap());
    assert!(
        error.contains("s3://backups/of/people/parts/first/3.part"),
        "{error}"
    );
}

#[test]
fn places_that_are_none_are_refused() {
    for bad in ["nosuch://bucket", "s3://"] {
        assert!(bad.parse::<Place>().is_err(), "{bad}");
    }
    assert!(matches!("/backups".parse(), Ok(Place::Directory(_))));
}
