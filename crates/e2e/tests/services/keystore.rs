//! The key store: every version that was acknowledged decrypts to what was stored, no number is used twice, the trail has all of it.

use crate::service::{Outcome, ask, look};
use crate::storm::{Progress, Storm};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::value::Value;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

const PEOPLE: usize = 6;

/// Each is used by two people, who are in each other's way.
const USERS: usize = 3;
const SECRETS: usize = 2;

/// In every secret, and so nowhere in the table.
const MARK: &str = "a-private-key";

/// A secret's place: user, name, version.
type Place = (usize, usize, u64);

/// What one of them has done.
#[derive(Default)]
struct Seen {
    stored: Vec<(Place, String)>,
    unknown: Vec<(Place, String)>,
    /// Attempts to write that were answered, and others, by user.
    answered: BTreeMap<usize, usize>,
    open: BTreeMap<usize, usize>,
}

fn authorization(user: usize) -> String {
    let text = format!("user{user}:passphrase of {user}");
    format!("Basic {}", BASE64.encode(text))
}

fn day() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is later than 1970").as_secs() / (24 * 3600)
}

/// The number in an `ETag`.
fn version(etag: Option<&str>) -> u64 {
    let number = etag.map(|it| it.trim_matches('"').parse());
    number.expect("a version").expect("a number")
}

fn live(number: usize, mut random: Random, progress: &Progress, ports: [u16; 2]) -> Seen {
    let mut seen = Seen::default();
    let user = number % USERS;
    let authorization = authorization(user);
    let who = ("Authorization", authorization.as_str());
    for turn in 0.. {
        if progress.is_over() {
            break;
        }
        let name = random.below(SECRETS);
        let path = format!("/secrets/secret{name}");
        let last = match ask(ports[random.below(2)], "GET", &path, &[who], "") {
            Outcome::Done(answer) if answer.status == 404 => 0,
            Outcome::Done(answer) => {
                assert_eq!(answer.status, 200, "{}", answer.body);
                let place = (user, name, version(answer.header("etag")));
                let mut own = seen.stored.iter();
                if let Some((_, secret)) = own.find(|(stored, _)| *stored == place) {
                    assert_eq!(*secret, answer.body, "{place:?}");
                }
                place.2
            }
            Outcome::NotDone | Outcome::Unknown => continue,
        };
        let secret = format!("{MARK} {number} {turn}");
        let place = (user, name, last + 1);
        let base = format!("\"{last}\"");
        let headers = [who, ("If-Match", base.as_str())];
        let written = ask(ports[random.below(2)], "PUT", &path, &headers, &secret);
        let attempts = match &written {
            Outcome::Done(_) => &mut seen.answered,
            Outcome::NotDone | Outcome::Unknown => &mut seen.open,
        };
        *attempts.entry(user).or_insert(0) += 1;
        match written {
            Outcome::Done(answer) if answer.status == 204 => {
                assert_eq!(version(answer.header("etag")), last + 1);
                progress.acknowledge();
                seen.stored.push((place, secret));
            }
            // The other one was faster.
            Outcome::Done(answer) => assert_eq!(answer.status, 412, "{}", answer.body),
            Outcome::NotDone => {}
            Outcome::Unknown => seen.unknown.push((place, secret)),
        }
    }
    seen
}

#[test]
fn every_version_decrypts_to_what_was_stored_through_failures() {
    let first_day = day();
    let mut storm = Storm::new("keystore", 3, &["--guess-memory", "1024"]);
    let ports = storm.ports();
    for user in 0..USERS {
        let who = authorization(user);
        wait_for("a vault", || {
            match ask(ports[0], "POST", "/vault", &[("Authorization", &who)], "") {
                Outcome::Done(answer) => [201, 409].contains(&answer.status).then_some(()),
                Outcome::NotDone | Outcome::Unknown => None,
            }
        });
    }
    let all = storm.rage(PEOPLE, |number, random, progress| {
        live(number, random, progress, ports)
    });
    let mut stored: BTreeMap<Place, &str> = BTreeMap::new();
    for (place, secret) in all.iter().flat_map(|it| &it.stored) {
        let other = stored.insert(*place, secret);
        assert_eq!(other, None, "{place:?} was acknowledged twice");
    }
    let mut versions = 0;
    for user in 0..USERS {
        let authorization = authorization(user);
        let who = ("Authorization", authorization.as_str());
        for name in 0..SECRETS {
            let path = format!("/secrets/secret{name}");
            let last = look(&ports, &path, &[who]);
            let last = match last.status {
                404 => 0,
                _ => version(last.header("etag")),
            };
            for version in 1..=last {
                let found = look(&ports, &format!("{path}?version={version}"), &[who]);
                let place = (user, name, version);
                assert_eq!(found.status, 200, "{place:?}: {}", found.body);
                let is_unknown = || {
                    let mut unknown = all.iter().flat_map(|it| &it.unknown);
                    unknown.any(|(of, secret)| *of == place && *secret == found.body)
                };
                match stored.remove(&place) {
                    Some(secret) => assert_eq!(found.body, secret, "{place:?}"),
                    None => assert!(is_unknown(), "{place:?} is {}", found.body),
                }
                versions += 1;
            }
        }
        let trail = |day| look(&ports, &format!("/audit?day={day}"), &[who]).body;
        let lines: String = (first_day..=day()).map(trail).collect();
        let written = lines.lines().filter(|it| it.contains(" write ")).count();
        let count = |of: fn(&Seen) -> &BTreeMap<usize, usize>| -> usize {
            all.iter().filter_map(|it| of(it).get(&user)).sum()
        };
        let (answered, open) = (count(|it| &it.answered), count(|it| &it.open));
        assert!(
            (answered..=answered + open).contains(&written),
            "the trail of user{user} has {written} writes; {answered} were answered, {open} were not"
        );
    }
    assert!(stored.is_empty(), "acknowledged, and not there: {stored:?}");
    let unknown: usize = all.iter().map(|it| it.unknown.len()).sum();
    println!("keystore: {versions} versions, {unknown} attempts of unknown outcome");
    assert_nothing_is_readable(&storm.cluster);
}

/// What the table holds tells no secret.
fn assert_nothing_is_readable(cluster: &Cluster) {
    let mut client = cluster.table(0, "keystore").expect("the table");
    let Value::Array(keys) = client.call(&["KEYS", "*"]) else {
        panic!("KEYS gave no list");
    };
    let mut hashes = 0;
    for key in keys {
        let key = key.text();
        let held = match key.starts_with("secret:") {
            true => client.call(&["HGETALL", key.as_str()]),
            false => match key.starts_with("names:") {
                true => continue,
                false => client.call(&["GET", key.as_str()]),
            },
        };
        hashes += usize::from(key.starts_with("secret:"));
        assert!(!held.text().contains(MARK), "{key}: {held}");
        for item in held.items().unwrap_or_default() {
            assert!(!item.text().contains(MARK), "{key}: {held}");
        }
    }
    assert!(hashes > 0, "no secret was looked at");
}

#[test]
fn passphrase_opens_the_vault_and_nothing_else_does() {
    let cluster = Cluster::start(&[0], 1, &[]);
    let service = crate::service::Service::start("keystore", &cluster, &["--guess-memory", "1024"]);
    let port = service.port();
    let as_user = |text: &str| format!("Basic {}", BASE64.encode(text));
    let must = |method: &str, path: &str, who: &str, more: &[(&str, &str)], body: &str| {
        let who = as_user(who);
        let headers = [&[("Authorization", who.as_str())], more].concat();
        match ask(port, method, path, &headers, body) {
            Outcome::Done(answer) => (answer.status, answer.body),
            Outcome::NotDone | Outcome::Unknown => panic!("{method} {path} failed"),
        }
    };
    let (ann, wrong) = ("ann:correct horse", "ann:battery staple");
    assert_eq!(must("POST", "/vault", "ann:short", &[], "").0, 400);
    assert_eq!(must("GET", "/secrets", ann, &[], "").0, 401, "no vault yet");
    assert_eq!(must("POST", "/vault", ann, &[], "").0, 201);
    assert_eq!(must("POST", "/vault", wrong, &[], "").0, 409);
    assert_eq!(must("PUT", "/secrets/ssh", ann, &[], "x").0, 428);
    let none = [("If-Match", "\"0\"")];
    assert_eq!(must("PUT", "/secrets/ssh", ann, &none, "one").0, 204);
    assert_eq!(must("PUT", "/secrets/ssh", ann, &none, "two").0, 412);
    let first = [("If-Match", "\"1\"")];
    assert_eq!(must("PUT", "/secrets/ssh", ann, &first, "two").0, 204);
    let beyond = [("If-Match", "\"7\"")];
    assert_eq!(must("PUT", "/secrets/ssh", ann, &beyond, "eight").0, 412);
    assert_eq!(must("GET", "/secrets/ssh", wrong, &[], "").0, 401);
    let last = must("GET", "/secrets/ssh", ann, &[], "");
    assert_eq!(last, (200, "two".to_owned()));
    let first = must("GET", "/secrets/ssh?version=1", ann, &[], "");
    assert_eq!(first, (200, "one".to_owned()));
    assert_eq!(must("GET", "/secrets/ssh?version=3", ann, &[], "").0, 404);
    assert_eq!(must("GET", "/secrets/a%0Ab", ann, &[], "").0, 400);
    let listed = must("GET", "/secrets", ann, &[], "");
    assert_eq!(listed, (200, "ssh 2\n".to_owned()));

    let changed = must("PUT", "/vault/passphrase", ann, &[], "battery staple");
    assert_eq!(changed.0, 204);
    assert_eq!(must("GET", "/secrets/ssh", ann, &[], "").0, 401);
    let last = must("GET", "/secrets/ssh", wrong, &[], "");
    assert_eq!(last, (200, "two".to_owned()));
    let trail = must("GET", "/audit", wrong, &[], "").1;
    let actions = trail.lines().filter_map(|it| it.split_once(' '));
    let actions: Vec<&str> = actions.map(|(_, action)| action).collect();
    for action in [
        "write ssh 1",
        "write ssh 2",
        "read ssh 1",
        "change the passphrase",
    ] {
        let count = actions.iter().filter(|it| **it == action).count();
        assert!(count > 0, "{action} is not in\n{trail}");
    }
    let refused = actions
        .iter()
        .filter(|it| it.starts_with("REFUSED"))
        .count();
    assert_eq!(refused, 2, "{trail}");
}
