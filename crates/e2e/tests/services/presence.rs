//! The gateway's bindings: none that was acknowledged is lost, and no stale sign-off ends a newer one.

use crate::service::Service;
use crate::storm::{Progress, Storm};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, wait_for};
use brickyard_e2e::random::Random;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

const PEOPLE: usize = 6;

/// A connection of a user to a gateway.
struct Phone {
    gateway: String,
    input: BufReader<TcpStream>,
    /// What came beside answers.
    told: Vec<String>,
}

impl Phone {
    fn connect(port: u16) -> io::Result<Self> {
        let gateway = format!("127.0.0.1:{port}");
        let stream = TcpStream::connect(&gateway)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            gateway,
            input: BufReader::new(stream),
            told: Vec::new(),
        })
    }

    fn receive(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.input.read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        self.input.get_mut().write_all(line.as_bytes())
    }

    /// Says something, and waits for the answer. `GONE` is one to `OFF` alone.
    fn ask(&mut self, line: &str) -> io::Result<String> {
        self.say(line)?;
        loop {
            let answer = self.receive()?;
            let is_beside = answer.starts_with("FROM ") || answer == "GONE" && line != "OFF";
            if !is_beside {
                return Ok(answer);
            }
            self.told.push(answer);
        }
    }

    fn must(&mut self, line: &str, expected: &str) {
        let answer = self
            .ask(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(answer, expected, "{line}");
    }
}

/// Where somebody is signed on; none: nowhere.
type Place = Option<String>;

/// A user who moves between gateways, and knows where he may be.
struct User {
    name: String,
    /// What was acknowledged last, and what may have become of it since.
    may_be: BTreeSet<Place>,
    phone: Option<Phone>,
    /// Whether nothing but his phone's sign-on can be what holds: one of which nobody knows may be a newer one, also at the same gateway.
    is_sure: bool,
}

impl User {
    /// Signs on at a gateway. The phone of before signs off at the same time, or later, or its connection breaks: whichever, that is about a binding
    /// that is over.
    fn move_to(&mut self, port: u16, random: &mut Random, progress: &Progress) {
        let Ok(mut phone) = Phone::connect(port) else {
            // It was killed. Only spares the processor.
            sleep(Duration::from_millis(2));
            return;
        };
        let mut before = self.phone.take();
        let is_early = random.once_in(3);
        if let Some(before) = before.as_mut().filter(|_| is_early) {
            self.may_be.insert(None);
            // Where that gateway is gone, so is the phone.
            let _ = before.say("OFF");
        }
        match phone.ask(&format!("ON {}", self.name)).as_deref() {
            Ok("OK") => progress.acknowledge(),
            answer => {
                match answer {
                    Ok(answer) if answer.starts_with("AGAIN") => {}
                    Ok(answer) if !answer.starts_with("UNKNOWN") => panic!("ON: {answer}"),
                    // The answer that nobody knows, or none at all.
                    _ => {
                        self.is_sure = false;
                        self.may_be.insert(Some(phone.gateway));
                    }
                }
                // He keeps his phone, unless he has signed off with it.
                self.phone = before.filter(|_| !is_early);
                return;
            }
        }
        self.may_be = BTreeSet::from([Some(phone.gateway.clone())]);
        self.phone = Some(phone);
        self.is_sure = true;
        if !is_early
            && random.once_in(2)
            && let Some(answer) = before.and_then(|mut it| it.ask("OFF").ok())
        {
            assert_ne!(answer, "OK", "{}: a stale sign-off was taken", self.name);
        }
    }

    /// Signs off where he signed on last.
    fn leave(&mut self, progress: &Progress) {
        let Some(mut phone) = self.phone.take() else {
            return;
        };
        match phone.ask("OFF").as_deref() {
            Ok("OK") => {
                progress.acknowledge();
                self.may_be = BTreeSet::from([None]);
            }
            // Nobody but him signs him on, and no lease has run out.
            Ok("GONE") if self.is_sure => {
                panic!("{}: the binding at {} was lost", self.name, phone.gateway)
            }
            _ => {
                self.may_be.insert(None);
            }
        }
    }

    fn check(&self, place: &Place) {
        let is_possible = self.may_be.contains(place);
        assert!(
            is_possible,
            "{} is at {place:?}, and was acknowledged at {:?}",
            self.name, self.may_be
        );
    }
}

/// Asks a gateway where somebody is; none: it does not say.
fn find(port: u16, user: &str) -> Option<Place> {
    let answer = Phone::connect(port)
        .ok()?
        .ask(&format!("WHERE {user}"))
        .ok()?;
    match answer.split_once(' ') {
        None if answer == "NOWHERE" => Some(None),
        Some(("AT", place)) => Some(Some(place.to_owned())),
        Some(("AGAIN", _)) => None,
        _ => panic!("WHERE: {answer}"),
    }
}

fn live(number: usize, mut random: Random, progress: &Progress, ports: [u16; 2]) -> User {
    let mut user = User {
        name: format!("user{number}"),
        may_be: BTreeSet::from([None]),
        phone: None,
        is_sure: false,
    };
    while !progress.is_over() {
        if random.once_in(4) {
            user.leave(progress);
        } else {
            user.move_to(ports[random.below(2)], &mut random, progress);
        }
        if let Some(place) = find(ports[random.below(2)], &user.name) {
            user.check(&place);
        }
    }
    user
}

#[test]
fn bindings_survive_failures_and_no_stale_sign_off_ends_a_newer_one() {
    // No lease runs out, so that each binding that is gone was lost; and they are renewed all the while.
    let arguments = ["--lease", "3600", "--renew-every", "1"];
    let mut storm = Storm::new("presence", 3, &arguments);
    let ports = storm.ports();
    let users = storm.rage(PEOPLE, |number, random, progress| {
        live(number, random, progress, ports)
    });
    for user in &users {
        for port in ports {
            let place = wait_for("where a user is", || find(port, &user.name));
            user.check(&place);
        }
    }
    // Their phones ring on: who is told that he is gone without having moved was lost.
    for user in users {
        let Some(mut phone) = user.phone else {
            continue;
        };
        if user.is_sure && phone.ask("WHERE nobody").is_ok() {
            assert!(phone.told.is_empty(), "{}: {:?}", user.name, phone.told);
        }
    }
}

#[test]
fn users_write_to_one_another_wherever_they_are() {
    let cluster = Cluster::start(&[0], 1, &[]);
    let gateways = [0, 1].map(|_| Service::start("presence", &cluster, &["--renew-every", "1"]));
    let [one, two] = [0, 1].map(|at: usize| gateways[at].port());
    let phone = |port| Phone::connect(port).expect("a gateway");
    let (mut ann, mut bob) = (phone(one), phone(two));
    ann.must("SEND bob hello", "ERR sign on first: ON user");
    ann.must("ON ann", "OK");
    ann.must("SEND bob hello", "NOWHERE");
    bob.must("ON bob", "OK");
    ann.must("WHERE bob", &format!("AT 127.0.0.1:{two}"));
    ann.must("SEND bob hello, bob", "OK");
    assert_eq!(bob.receive().expect("a message"), "FROM ann hello, bob");
    ann.must("SEND ann a note", "OK");
    ann.must("WHERE nobody", "NOWHERE");
    assert_eq!(ann.told, ["FROM ann a note"]);
    // He moves; the gateway that he left finds out when it renews, and tells him.
    let mut moved = phone(one);
    moved.must("ON bob", "OK");
    assert_eq!(bob.receive().expect("a line"), "GONE");
    bob.must("OFF", "GONE");
    ann.must("SEND bob welcome", "OK");
    assert_eq!(moved.receive().expect("a message"), "FROM ann welcome");
    moved.must("OFF", "OK");
    ann.must("WHERE bob", "NOWHERE");
    // Who hangs up has signed off.
    drop(ann);
    wait_for("the end of her binding", || {
        find(two, "ann")?.is_none().then_some(())
    });
    bob.must(
        "what",
        "ERR say ON user, OFF, WHERE user, SEND user text, or QUIT",
    );
}

#[test]
fn bindings_of_a_dead_gateway_end_and_those_of_a_stopped_one_at_once() {
    let cluster = Cluster::start(&[0], 1, &[]);
    let mut gateways = [0, 1, 2].map(|at| {
        let lease = if at == 0 { "2" } else { "3600" };
        Service::start("presence", &cluster, &["--lease", lease])
    });
    let ports = [0, 1, 2].map(|at: usize| gateways[at].port());
    let mut phones = ports.map(|port| Phone::connect(port).expect("a gateway"));
    for (phone, user) in phones.iter_mut().zip(["ann", "bob", "eve"]) {
        phone.must(&format!("ON {user}"), "OK");
    }
    gateways[0].kill();
    let said = gateways[1].stop();
    assert!(said.contains("presence: stopped"), "{said}");
    for user in ["ann", "bob"] {
        wait_for("the end of a binding", || {
            find(ports[2], user)?.is_none().then_some(())
        });
    }
    assert_eq!(find(ports[2], "eve"), Some(Some(phones[2].gateway.clone())));
}
