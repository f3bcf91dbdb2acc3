//! E7: a thread for each task, or one loop for all.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure};
use crate::judgement::{Judgement, top};
use crate::run::Run;
use crate::table::Table;
use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 7,
    title: "A loop or threads",
    question: "How many concurrent tasks can a server have that gives each a thread, and one that has a loop?",
    original: Original {
        paper: Paper::Osdi,
        place: "section 3, figure 2",
        setup: "A small server that receives a pipeline of requests of 150 bytes over one connection and answers with as many over another, each 10 ms later; by a thread for each request, or by an event-driven state machine.",
        found: "With threads throughput peaks and falls as concurrency grows; the state machines go on. The text has no figures (167 MHz UltraSparc).",
    },
    scaled: "The same server, by std's threads and by one loop over poll, and the same client, all in one process on one core; up to 8,192 tasks at a time.",
    expected: Expected::Reproduced,
    shape: "the loop does several times what threads do once there are thousands of tasks, at a fraction of the processor time for each",
    minutes: 1.0,
    measure,
    judge,
};

const MESSAGE: usize = 150;
const DELAY: Duration = Duration::from_millis(10);
const OUTSTANDING: [usize; 7] = [1, 16, 64, 256, 1_024, 4_096, 8_192];
const LOOP: &str = "loop";
const THREADS: &str = "threads";
/// Enough for what a task does; the default would be 2 MB of addresses each.
const STACK: usize = 64 * 1024;

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let outstanding = &OUTSTANDING[..run.quick(4, OUTSTANDING.len())];
    let piece = run.piece(outstanding.len() * 2);
    run.rounds(|round| {
        for outstanding in outstanding {
            for (name, serve) in [
                (LOOP, serve_loop as Serve),
                (THREADS, serve_threads as Serve),
            ] {
                run.say(&format!("{name}, {outstanding} at a time"))?;
                let (count, cpu_s, seconds) = one(serve, *outstanding, piece)?;
                let measures = [
                    ("tasks_per_s", count as f64 / seconds),
                    ("cpu_us", cpu_s * 1e6 / count.max(1) as f64),
                ];
                data.add(name, *outstanding as f64, round, &measures);
            }
        }
        Ok(())
    })?;
    Ok(data)
}

/// A server: requests come in at one connection, answers leave at the other; it ends when the first is closed.
type Serve = fn(TcpStream, TcpStream) -> io::Result<()>;

/// Keeps so many tasks outstanding; says how many were done, at how much processor time of client and server, in how long.
fn one(serve: Serve, outstanding: usize, time: Duration) -> anyhow::Result<(u64, f64, f64)> {
    let (requests, server_in) = pair()?;
    let (server_out, answers) = pair()?;
    let server = thread::spawn(move || serve(server_in, server_out));
    let (cpu, begin) = (cpu_s(), Instant::now());
    let count = ask(requests, answers, outstanding, time)?;
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = cpu_s() - cpu;
    let served = server.join();
    served
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .context("the small server")?;
    Ok((count, cpu, seconds))
}

/// A connection over loopback: both its ends.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok((one, other))
}

/// The client: a request more for every answer, until the time is over; then the answers that are left. Requests are sent by a thread of their
/// own, so that answers are always taken: otherwise both sides could wait for the other to read.
fn ask(
    mut requests: TcpStream,
    mut answers: TcpStream,
    outstanding: usize,
    time: Duration,
) -> io::Result<u64> {
    let end = Instant::now() + time;
    let (more, wanted) = mpsc::channel::<usize>();
    let sender = thread::spawn(move || -> io::Result<()> {
        let block = vec![b'r'; MESSAGE * outstanding];
        for count in wanted {
            requests.write_all(&block[..count * MESSAGE])?;
        }
        Ok(())
    });
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    more.send(outstanding).map_err(gone)?;
    let (mut asked, mut bytes) = (outstanding, 0_usize);
    let mut input = vec![0; MESSAGE * outstanding];
    while bytes < asked * MESSAGE {
        let before = bytes / MESSAGE;
        let count = answers.read(&mut input)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes += count;
        if Instant::now() < end {
            let answered = bytes / MESSAGE - before;
            more.send(answered).map_err(gone)?;
            asked += answered;
        }
    }
    // The server ends when its requests do.
    drop(more);
    let sent = sender.join();
    sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(asked as u64)
}

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// A thread for each request.
fn serve_threads(mut requests: TcpStream, answers: TcpStream) -> io::Result<()> {
    let answers = Arc::new(Mutex::new(answers));
    let mut request = [0; MESSAGE];
    loop {
        match requests.read_exact(&mut request) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let answers = Arc::clone(&answers);
        thread::Builder::new().stack_size(STACK).spawn(move || {
            thread::sleep(DELAY);
            let mut answers = answers
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            // The client may have gone.
            drop(answers.write_all(&request));
        })?;
    }
}

/// One loop for all of them: since every delay is the same, those that are due first came first.
fn serve_loop(mut requests: TcpStream, mut answers: TcpStream) -> io::Result<()> {
    requests.set_nonblocking(true)?;
    let mut due: VecDeque<Instant> = VecDeque::new();
    let mut input = vec![0; 64 * 1024];
    let mut bytes = 0;
    let mut is_open = true;
    while is_open || !due.is_empty() {
        let wait = due
            .front()
            .map(|it| it.saturating_duration_since(Instant::now()));
        let wait = wait.map(|it| Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(it.subsec_nanos()),
        });
        let mut watched = [PollFd::new(&requests, PollFlags::IN)];
        let watched = if is_open { &mut watched[..] } else { &mut [] };
        poll(watched, wait.as_ref())?;
        let now = Instant::now();
        while is_open {
            match requests.read(&mut input) {
                Ok(0) => is_open = false,
                Ok(count) => {
                    let before = bytes / MESSAGE;
                    bytes += count;
                    due.extend(std::iter::repeat_n(now + DELAY, bytes / MESSAGE - before));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let ready = due.iter().take_while(|it| **it <= now).count();
        due.drain(..ready);
        answers.write_all(&vec![b'a'; ready * MESSAGE])?;
    }
    Ok(())
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let x = || Axis::log("tasks at a time");
    let mut rates = Figure::new("Tasks of 10 ms", x(), Axis::log("tasks a second"));
    rates.measured(data, "tasks_per_s");
    let ideal: Vec<(f64, f64)> = data
        .line(LOOP, "tasks_per_s")
        .iter()
        .map(|point| (point.x, point.x / DELAY.as_secs_f64()))
        .collect();
    rates.curve(
        "if nothing cost anything",
        crate::figure::Look::Modelled,
        crate::figure::exact(&ideal),
    );
    let mut costs = Figure::new(
        "Processor time of client and server",
        x(),
        Axis::log("µs for a task"),
    );
    costs.measured(data, "cpu_us");
    it.figures = vec![rates, costs];
    let (by_loop, by_threads) = (
        data.line(LOOP, "tasks_per_s"),
        data.line(THREADS, "tasks_per_s"),
    );
    it.at_least(
        "what the loop does at best beside threads",
        top(&by_loop) / top(&by_threads),
        2.0,
    );
    let at_most = by_loop.last().map_or(f64::NAN, |it| it.x);
    it.at_least(
        "processor time of threads for a task beside the loop's, with the most tasks",
        data.median(THREADS, at_most, "cpu_us") / data.median(LOOP, at_most, "cpu_us"),
        2.0,
    );
    it.at_least(
        "what the loop does with the most tasks beside its best",
        by_loop.last().map_or(f64::NAN, |it| it.median) / top(&by_loop),
        0.7,
    );
    it.tables.push(Table::of(
        data,
        "",
        "tasks at a time",
        &[("tasks_per_s", "tasks/s"), ("cpu_us", "CPU µs/task")],
    ));
    it.remark("This is why a brick is one loop on one core: a request costs it no thread, no stack and no lock.");
    it
}

#[cfg(test)]
mod e07_async_or_threads_test {
    use super::{DELAY, Serve, one, serve_loop, serve_threads};
    use std::time::Duration;

    #[test]
    fn every_task_is_answered_and_none_before_its_time() {
        for serve in [serve_loop as Serve, serve_threads as Serve] {
            let (count, _, seconds) = one(serve, 8, Duration::from_millis(50)).unwrap();
            assert!(count >= 8);
            // Eight at a time, each of ten milliseconds: no server can be faster.
            let fastest = count as f64 / 8.0 * DELAY.as_secs_f64();
            assert!(seconds >= fastest * 0.99, "{count} in {seconds} s");
        }
    }
}
