//! Goal: every data command replies what Redis 7.0 replies, byte for byte.
//!
//! Method: random sequences of requests, made of the arguments at which implementations differ, run
//! against a real `redis-server` and against `execute` over a keyspace in memory. A difference is
//! shrunk to the shortest sequence that still shows it. The seed is printed; to run one again:
//!
//! ```text
//! BRICKYARD_DIFFERENTIAL_SEED=7 cargo test -p brickyard-command --test differential
//! ```
//!
//! `BRICKYARD_DIFFERENTIAL_SEQUENCES` sets how many sequences are run.

mod arguments;
mod commands;
mod elsewhere;
mod generate;
mod known;
mod patterns;
mod random;
mod redis;
mod refusals;

use brickyard_command::testing::MemoryKeyspace;
use brickyard_command::{Args, OwnedArgs};
use brickyard_types::UnixMillis;
use brickyard_wire::Protocol;
use random::Random;
use redis::Redis;
use std::time::{SystemTime, UNIX_EPOCH};

const SEQUENCES: u64 = 2_000;
const REQUESTS_PER_SEQUENCE: u64 = 40;

#[test]
fn random_sequences_get_the_replies_of_redis() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let seed = setting("BRICKYARD_DIFFERENTIAL_SEED", 1);
    let sequences = setting("BRICKYARD_DIFFERENTIAL_SEQUENCES", SEQUENCES);
    println!("seed {seed}, {sequences} sequences of {REQUESTS_PER_SEQUENCE} requests");
    let mut random = Random::new(seed);
    for number in 0..sequences {
        let protocol = [Protocol::Resp2, Protocol::Resp3][(number % 2) as usize];
        let sequence = generate::sequence(&mut random, REQUESTS_PER_SEQUENCE);
        if let Some(difference) = first_difference(&mut redis, protocol, &sequence) {
            let shortest = shrink(&mut redis, protocol, sequence, difference);
            panic!("sequence {number} of seed {seed}: {shortest}");
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("the setting is a number"),
        Err(_) => default,
    }
}

/// A request that the two answered differently.
struct Difference {
    position: usize,
    redis: Vec<u8>,
    ours: Vec<u8>,
}

/// Runs the sequence on both sides, each starting empty.
fn first_difference(
    redis: &mut Redis,
    protocol: Protocol,
    sequence: &[OwnedArgs],
) -> Option<Difference> {
    let theirs = redis.run(protocol, sequence);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("the clock is past 1970").as_millis();
    let mut keyspace = MemoryKeyspace::default();
    keyspace.now = UnixMillis(u64::try_from(now).expect("64 bits of milliseconds are enough"));
    sequence
        .iter()
        .zip(theirs)
        .enumerate()
        .find_map(|(position, (request, redis))| {
            let ours = keyspace.run(protocol, request);
            let is_same = ours == redis
                || known::is_same_time(request.as_args(), &redis, &ours)
                || known::is_same_error(&redis, &ours);
            (!is_same).then_some(Difference {
                position,
                redis,
                ours,
            })
        })
}

/// Leaves out every request that the difference does not need.
fn shrink(
    redis: &mut Redis,
    protocol: Protocol,
    mut sequence: Vec<OwnedArgs>,
    mut difference: Difference,
) -> String {
    sequence.truncate(difference.position + 1);
    let mut at = difference.position;
    while at > 0 {
        at -= 1;
        let mut shorter = sequence.clone();
        shorter.remove(at);
        if let Some(still) = first_difference(redis, protocol, &shorter) {
            shorter.truncate(still.position + 1);
            at = at.min(still.position);
            sequence = shorter;
            difference = still;
        }
    }
    let requests: String = sequence
        .iter()
        .map(|request| format!("\n  {}", shown(request.as_args())))
        .collect();
    format!(
        "{protocol:?}{requests}\n  redis: {}\n  ours:  {}",
        difference.redis.escape_ascii(),
        difference.ours.escape_ascii()
    )
}

fn shown(args: Args<'_>) -> String {
    let words: Vec<String> = args
        .from(0)
        .map(|argument| {
            let text = argument[..argument.len().min(200)].escape_ascii();
            format!("\"{text}\"")
        })
        .collect();
    words.join(" ")
}
