//! Goal: KEYS shows the keys that Redis shows, whatever the pattern.
//!
//! Method: keys and patterns of few letters, so that classes, escapes and stars meet, against KEYS
//! of a real server.

use super::random::Random;
use super::redis::Redis;
use brickyard_command::{OwnedArgs, glob};
use brickyard_wire::Protocol;
use std::collections::BTreeSet;

const ROUNDS: usize = 60;
const KEYS_PER_ROUND: usize = 60;
const PATTERNS_PER_ROUND: usize = 200;

#[test]
fn patterns_match_the_keys_that_redis_matches() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let mut random = Random::new(1);
    for _ in 0..ROUNDS {
        let keys: BTreeSet<Vec<u8>> = (0..KEYS_PER_ROUND)
            .map(|_| text(&mut random, b"abcAB-]\\^*?[\xe4\xf6", 6))
            .collect();
        let patterns: Vec<Vec<u8>> = (0..PATTERNS_PER_ROUND)
            .map(|_| text(&mut random, b"abcAB-]\\^**??[[[]\xe4\xf6", 9))
            .collect();
        let set = keys.iter().flat_map(|key| [key.as_slice(), b"v"]);
        let set: OwnedArgs = std::iter::once(&b"MSET"[..]).chain(set).collect();
        let mut requests = vec![set];
        requests.extend(patterns.iter().map(|pattern| {
            let request: [&[u8]; 2] = [b"KEYS", pattern];
            request.iter().collect::<OwnedArgs>()
        }));
        let replies = redis.run(Protocol::Resp2, &requests);
        for (pattern, reply) in patterns.iter().zip(&replies[1..]) {
            // KEYS passes over its matcher for `*` alone.
            let is_match = |key: &Vec<u8>| pattern == b"*" || glob::matches(pattern, key, false);
            let ours: BTreeSet<Vec<u8>> =
                keys.iter().filter(|key| is_match(key)).cloned().collect();
            assert_eq!(ours, bulks(reply), "pattern {}", pattern.escape_ascii());
        }
    }
}

fn text(random: &mut Random, letters: &[u8], length_max: u64) -> Vec<u8> {
    (0..random.below(length_max + 1))
        .map(|_| letters[random.below(letters.len() as u64) as usize])
        .collect()
}

/// The strings of an array; the keys of this test have no line ends in them.
fn bulks(reply: &[u8]) -> BTreeSet<Vec<u8>> {
    let lines = reply.split(|byte| *byte == b'\n').skip(1);
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines: Vec<&[u8]> = lines.collect();
    lines
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[_, text]| text.to_vec())
        .collect()
}
