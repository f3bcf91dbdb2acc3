//! The web server: a session is its user's and nobody else's, and no edit that was acknowledged is lost.

use crate::service::{Outcome, ask, look};
use crate::storm::{Progress, Storm};
use brickyard_e2e::http::Answer;
use brickyard_e2e::random::Random;
use std::collections::BTreeMap;

const PEOPLE: usize = 6;
const PAGES: usize = 4;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Sessions that somebody has at once.
const SESSIONS_MAX: usize = 4;

/// What somebody has written, and where he is signed in.
struct Person {
    name: String,
    /// Cookies of sessions, and of those that are over.
    sessions: Vec<String>,
    over: Vec<String>,
    /// Lines by page: those that were acknowledged, and those of which nobody knows.
    saved: Vec<(String, String)>,
    unknown: Vec<(String, String)>,
}

/// The cookie that an answer sets, as a browser shows it.
fn cookie(answer: &Answer) -> Option<String> {
    let set = answer.header("set-cookie")?;
    set.split(';').next().map(str::to_owned)
}

impl Person {
    fn new(number: usize) -> Self {
        Self {
            name: format!("person{number}"),
            sessions: Vec::new(),
            over: Vec::new(),
            saved: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Joins, if he has not before, and signs in.
    fn sign_in(&mut self, port: u16, progress: &Progress) {
        let form = format!("user={}&password=secret-of-{}", self.name, self.name);
        // One who is there already is told so, and signs in.
        for path in ["/join", "/sign-in"] {
            let Outcome::Done(answer) = ask(port, "POST", path, &[FORM], &form) else {
                return;
            };
            match (answer.status, cookie(&answer)) {
                (303, Some(cookie)) => {
                    progress.acknowledge();
                    return self.sessions.push(cookie);
                }
                (409, _) if path == "/join" => {}
                (status, _) => panic!("{path}: {status} {}", answer.body),
            }
        }
    }

    fn sign_out(&mut self, port: u16, at: usize) {
        let cookie = self.sessions.remove(at);
        let headers = [("Cookie", cookie.as_str()), FORM];
        if let Outcome::Done(answer) = ask(port, "POST", "/sign-out", &headers, "") {
            assert_eq!(answer.status, 303, "{}", answer.body);
            self.over.push(cookie);
        }
    }

    /// What the site says of each session.
    fn check(&self, port: u16) {
        let all = self.sessions.iter().chain(&self.over);
        for cookie in all {
            if let Outcome::Done(answer) = ask(port, "GET", "/me", &[("Cookie", cookie)], "") {
                self.check_answer(cookie, &answer);
            }
        }
    }

    fn check_answer(&self, cookie: &String, answer: &Answer) {
        let is_over = self.over.contains(cookie);
        let seen = (answer.status, answer.body.trim_end());
        match is_over {
            true => assert_eq!(seen.0, 401, "{} signed out and is {}", self.name, seen.1),
            false => assert_eq!(seen, (200, self.name.as_str())),
        }
    }

    /// Puts a line behind a page.
    fn edit(&mut self, ports: [u16; 2], number: usize, random: &mut Random, progress: &Progress) {
        let Some(cookie) = self.sessions.first() else {
            return;
        };
        let page = format!("/pages/page{}", random.below(PAGES));
        let port = ports[random.below(2)];
        let Outcome::Done(answer) = ask(port, "GET", &format!("{page}?raw"), &[], "") else {
            return;
        };
        let (version, text) = match answer.status {
            404 => ("\"0\"", ""),
            _ => (
                answer.header("etag").expect("a version"),
                answer.body.as_str(),
            ),
        };
        let line = format!("{} {number}", self.name);
        let headers = [
            ("Cookie", cookie.as_str()),
            ("If-Match", version),
            ("Content-Type", "text/plain"),
        ];
        let text = format!("{text}{line}\n");
        match ask(ports[random.below(2)], "PUT", &page, &headers, &text) {
            Outcome::Done(answer) if answer.status == 204 => {
                progress.acknowledge();
                self.saved.push((page, line));
            }
            // Somebody was faster: nothing was saved.
            Outcome::Done(answer) => assert_eq!(answer.status, 412, "{}", answer.body),
            Outcome::NotDone => {}
            Outcome::Unknown => self.unknown.push((page, line)),
        }
    }
}

fn live(number: usize, mut random: Random, progress: &Progress, ports: [u16; 2]) -> Person {
    let mut person = Person::new(number);
    for turn in 0.. {
        if progress.is_over() {
            break;
        }
        let port = ports[random.below(2)];
        let count = person.sessions.len();
        if count == 0 || count < SESSIONS_MAX && random.once_in(20) {
            person.sign_in(port, progress);
        } else if count > 1 && random.once_in(20) {
            person.sign_out(port, random.below(count));
        }
        person.edit(ports, turn, &mut random, progress);
        person.check(port);
    }
    person
}

#[test]
fn sessions_stay_their_users_and_no_edit_is_lost_through_failures() {
    let mut storm = Storm::new("site", 2, &[]);
    let ports = storm.ports();
    let people = storm.rage(PEOPLE, |number, random, progress| {
        live(number, random, progress, ports)
    });
    for person in &people {
        for port in ports {
            for cookie in person.sessions.iter().chain(&person.over) {
                let answer = look(&[port], "/me", &[("Cookie", cookie)]);
                person.check_answer(cookie, &answer);
            }
        }
    }
    for number in 0..PAGES {
        let page = format!("/pages/page{number}");
        let texts = ports.map(|port| look(&[port], &format!("{page}?raw"), &[]).body);
        assert_eq!(texts[0], texts[1], "{page} at both instances");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for line in texts[0].lines() {
            *counts.entry(line).or_insert(0) += 1;
        }
        let of_page = |(of, _): &&(String, String)| *of == page;
        let saved = people.iter().flat_map(|it| &it.saved).filter(of_page);
        for (_, line) in saved {
            let count = counts.remove(line.as_str());
            assert_eq!(count, Some(1), "{page}: {line} was acknowledged");
        }
        let unknown = people.iter().flat_map(|it| &it.unknown).filter(of_page);
        for (_, line) in unknown {
            let count = counts.remove(line.as_str()).unwrap_or(0);
            assert!(count <= 1, "{page}: {line} is there {count} times");
        }
        assert!(
            counts.is_empty(),
            "{page} has what nobody saved: {counts:?}"
        );
    }
    let saved: usize = people.iter().map(|it| it.saved.len()).sum();
    let unknown: usize = people.iter().map(|it| it.unknown.len()).sum();
    println!("site: {saved} edits, {unknown} of unknown outcome");
}
