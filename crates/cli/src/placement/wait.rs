//! Waiting until nothing is left to move, with a bar.

use super::server::Server;
use indicatif::{ProgressBar, ProgressStyle};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// How long a server may fail to answer before it is given up: one that restarts is back by then.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// What is left, in a unit of the waiter's choice, and words for it.
pub(crate) struct Left {
    pub(crate) count: u64,
    pub(crate) text: String,
    pub(crate) is_done: bool,
}

/// Looks again and again until nothing is left.
///
/// # Errors
/// The server does not answer for long, or `poll` says that it is of no use.
pub(crate) fn until_done(
    server: &mut Server,
    what: &str,
    mut poll: impl FnMut(&mut Server) -> anyhow::Result<Left>,
) -> anyhow::Result<()> {
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{msg}  {bar:30} {percent:>3} %  {elapsed}, {eta} left")
    {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    let mut most = 0;
    let mut heard = Instant::now();
    loop {
        match poll(server) {
            Ok(left) => {
                heard = Instant::now();
                if left.is_done {
                    bar.finish_and_clear();
                    return Ok(());
                }
                most = most.max(left.count);
                bar.set_length(most);
                bar.set_position(most - left.count);
                bar.set_message(format!("{what}: {}", left.text));
            }
            Err(error) if heard.elapsed() > SILENCE_MAX => {
                bar.abandon();
                return Err(error.context(format!(
                    "{what}: it goes on, and nobody tells how far it is"
                )));
            }
            Err(_) => {}
        }
        sleep(PAUSE);
    }
}

/// Waits until everything is where it should be, and led from where it should be.
pub(crate) fn until_even(server: &mut Server, what: &str) -> anyhow::Result<()> {
    until_done(server, what, |server| {
        let rebalance_status = server.rebalance_status()?;
        Ok(Left {
            count: rebalance_status.copies + rebalance_status.primaries,
            text: format!(
                "{} copies to move, {} under way, {} primaries to hand over",
                rebalance_status.copies, rebalance_status.learning, rebalance_status.primaries
            ),
            is_done: rebalance_status.is_done(),
        })
    })
}

/// Waits until a node that is to hold nothing holds nothing.
pub(crate) fn until_empty(server: &mut Server, node: u32) -> anyhow::Result<()> {
    let what = format!("emptying node {node}");
    until_done(server, &what, |server| {
        let Some(row) = server.node(node)? else {
            return Ok(Left {
                count: 0,
                text: String::new(),
                is_done: true,
            });
        };
        Ok(Left {
            count: row.copies + row.learning,
            text: format!("{} primaries, {} copies left", row.primaries, row.copies),
            is_done: row.is_empty(),
        })
    })
}
