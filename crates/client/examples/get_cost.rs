//! What a pipelined GET costs the client: CPU time of the client's thread, by calls in flight.
//!
//! In:  nothing, or the address of a node to ask. Out: nanoseconds of CPU for each GET, on one line for each
//! width.
//!
//! Without an address it asks a server of its own, on another thread, that answers everything with one value.
//! `cargo run --release -p brickyard-client --example get_cost`

use brickyard_client::{Client, Error, Options};
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

const VALUE_BYTES: usize = 150;
const CALLS: u32 = 400_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = match std::env::args().nth(1) {
        Some(address) => address,
        None => serve()?,
    };
    let client = Client::connect(Options::new([address])).await?;
    let table = client.home_table();
    let keys: Vec<String> = (0..1000).map(|n| format!("user:{n:08}")).collect();
    for key in &keys {
        table.set(key, [b'x'; VALUE_BYTES]).await?;
    }
    for width in [1, 16, 128, 1024] {
        let calls = if width == 1 { CALLS / 8 } else { CALLS };
        let (cpu, clock) = (cpu_time(), Instant::now());
        let mut in_flight = VecDeque::with_capacity(width);
        for key in keys.iter().cycle().take(calls as usize) {
            if in_flight.len() == width {
                // The oldest half is taken at a time, so that the others are on their way meanwhile.
                for pending in in_flight.drain(..width.div_ceil(2)) {
                    take(pending).await?;
                }
            }
            in_flight.push_back(table.get(key));
        }
        for pending in in_flight {
            take(pending).await?;
        }
        let cpu = cpu_time() - cpu;
        let per_s = f64::from(calls) / clock.elapsed().as_secs_f64();
        let each = cpu / calls;
        println!("{width:5} in flight: {each:>9.0?} of CPU a GET, {per_s:8.0} GET/s");
    }
    Ok(())
}

async fn take(pending: brickyard_client::Pending<Option<Vec<u8>>>) -> Result<(), Error> {
    let value = pending.await?;
    assert_eq!(value.map(|it| it.len()), Some(VALUE_BYTES));
    Ok(())
}

/// CPU time of this thread, that of the kernel on its behalf included.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A server without maps on a thread of its own.
fn serve() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || stream.map(answer));
        }
    });
    Ok(address)
}

/// Answers each request as it starts; none is longer than a read, but one may be cut by its end.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let value = format!("${VALUE_BYTES}\r\n{}\r\n", "x".repeat(VALUE_BYTES));
    let (mut input, mut chunk, mut output) = (Vec::new(), vec![0; 64 * 1024], Vec::new());
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        input.extend_from_slice(&chunk[..count]);
        output.clear();
        // Every request starts with `*`, and no argument here has one in it.
        let whole = whole_requests(&input);
        for request in input[..whole].split(|byte| *byte == b'*').skip(1) {
            let is = |name: &str| {
                request
                    .windows(name.len())
                    .take(16)
                    .any(|it| it == name.as_bytes())
            };
            let reply = match () {
                () if is("GET") => value.as_str(),
                () if is("HELLO") => "%1\r\n+mode\r\n+standalone\r\n",
                () if is("CLUSTER") => "-ERR no maps here\r\n",
                () => "+OK\r\n",
            };
            output.extend_from_slice(reply.as_bytes());
        }
        input.drain(..whole);
        stream.write_all(&output)?;
    }
}

/// Where the last request that is whole ends.
fn whole_requests(input: &[u8]) -> usize {
    let mut starts = input.iter().enumerate().filter(|(_, byte)| **byte == b'*');
    let Some((last, _)) = starts.next_back() else {
        return 0;
    };
    let line_ends = input[last..].iter().filter(|byte| **byte == b'\n').count();
    let words = usize::from(input[last + 1..].first().map_or(9, |digit| digit - b'0'));
    if line_ends == 1 + 2 * words {
        input.len()
    } else {
        last
    }
}
