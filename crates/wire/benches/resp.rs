//! Nanoseconds for each request decoded and each reply encoded, in pipelines of 100.
//!
//! Run with `cargo bench -p brickyard-wire`. Each line is the best of many rounds, which is what
//! the code costs when nothing else has the core; nothing is asserted.

use brickyard_wire::{
    Limits, Protocol, Reply, ReplyDecoder, ReplyLimits, ReplyStep, RequestDecoder, Step,
    encode_request,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const PIPELINE: usize = 100;
const ROUNDS: usize = 20_000;

fn main() {
    // `cargo test --all-targets` starts this too, without the flag: then it has been compiled.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    decode("GET key:16", |_| vec![b"GET".to_vec(), key(7)]);
    decode("SET key:16 value:64", |_| {
        vec![b"SET".to_vec(), key(7), vec![b'v'; 64]]
    });
    decode("SET key:16 value:1024", |_| {
        vec![b"SET".to_vec(), key(7), vec![b'v'; 1024]]
    });
    decode("SET key:5..14 value:1..200", |index| {
        vec![
            b"SET".to_vec(),
            key(index)[..5 + index * 7 % 10].to_vec(),
            vec![b'v'; 1 + index * 37 % 200],
        ]
    });
    decode("MGET of 8 keys", |_| {
        let mut arguments = vec![b"MGET".to_vec()];
        arguments.extend((0..8).map(key));
        arguments
    });
    decode("MGET of 20 keys", |_| {
        let mut arguments = vec![b"MGET".to_vec()];
        arguments.extend((0..20).map(key));
        arguments
    });
    encode("+OK", |reply| reply.ok());
    encode("integer of 1 digit", |reply| reply.integer(black_box(1)));
    encode("integer of 7 digits", |reply| {
        reply.integer(black_box(1_234_567));
    });
    let value = vec![b'v'; 1024];
    encode("null", |reply| reply.null());
    encode("bulk:8", |reply| reply.bulk(&value[..black_box(8)]));
    encode("bulk:64", |reply| reply.bulk(&value[..black_box(64)]));
    encode("bulk:1024", |reply| reply.bulk(&value[..black_box(1024)]));
    skim(&value[..64]);
}

fn key(index: usize) -> Vec<u8> {
    format!("key:{index:012}").into_bytes()
}

fn decode(name: &str, request: impl Fn(usize) -> Vec<Vec<u8>>) {
    let mut input = Vec::new();
    for index in 0..PIPELINE {
        encode_request(&mut input, &request(index));
    }
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut spans = Vec::new();
    report("decode", name, || {
        let mut at = 0;
        let mut requests = 0;
        spans.clear();
        while at < input.len() {
            match decoder.decode(&input[at..], &mut spans) {
                Ok(Step::Request { consumed, .. }) => at += consumed,
                other => panic!("the pipeline is whole: {other:?}"),
            }
            requests += 1;
        }
        black_box(&spans);
        requests
    });
}

fn encode(name: &str, write: impl Fn(&mut Reply<'_>)) {
    let mut out = Vec::new();
    report("encode", name, || {
        out.clear();
        for _ in 0..PIPELINE {
            let mut reply = Reply::new(black_box(&mut out), Protocol::Resp2);
            write(&mut reply);
        }
        PIPELINE
    });
}

fn skim(value: &[u8]) {
    let mut input = Vec::new();
    for _ in 0..PIPELINE {
        Reply::new(&mut input, Protocol::Resp2).bulk(value);
    }
    let mut decoder = ReplyDecoder::new(ReplyLimits::default());
    report("skim", "bulk:64", || {
        let mut at = 0;
        let mut replies = 0;
        while at < input.len() {
            match decoder.skim(&input[at..]) {
                Ok(ReplyStep::Reply { consumed, .. }) => at += consumed,
                other => panic!("the pipeline is whole: {other:?}"),
            }
            replies += 1;
        }
        replies
    });
}

/// Prints the least time for one of the `run`'s things.
fn report(what: &str, name: &str, mut run: impl FnMut() -> usize) {
    let mut best = Duration::MAX;
    let mut count = 1;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        count = black_box(run());
        best = best.min(start.elapsed());
    }
    let nanos = best.as_nanos() as f64 / count as f64;
    println!("{what:8}{name:28}{nanos:8.2} ns");
}
