//! Connections of others that have not said yet who they are: so many at most, and the newest ones.
//!
//! In:  those who come, those who have said it. Out: who was sent away.
//!
//! Invariant: whoever comes is heard. Where there are too many, the one goes that has said nothing for longest: a node takes some
//! milliseconds to say who it is, so that people who say nothing, however many, do not keep it out.

use brickyard_node::peer::STRANGERS_MAX;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::task::AbortHandle;

/// See the module; by the numbers of the connections, which grow.
#[derive(Debug, Default)]
pub(super) struct Strangers(RefCell<BTreeMap<u64, (SocketAddr, AbortHandle)>>);

impl Strangers {
    /// Somebody came, of whom this task looks after; who was sent away for it, if somebody was.
    pub(super) fn on_arrived(
        &self,
        id: u64,
        from: SocketAddr,
        task: AbortHandle,
    ) -> Option<SocketAddr> {
        let mut strangers = self.0.borrow_mut();
        strangers.insert(id, (from, task));
        if strangers.len() <= STRANGERS_MAX {
            return None;
        }
        let (_, (from, task)) = strangers.pop_first()?;
        task.abort();
        Some(from)
    }

    /// It has said who it is, or has gone.
    pub(super) fn on_known(&self, id: u64) {
        self.0.borrow_mut().remove(&id);
    }
}

#[cfg(test)]
mod strangers_test {
    use super::*;
    use std::future::pending;

    #[tokio::test]
    async fn whoever_has_said_nothing_for_longest_goes() {
        let strangers = Strangers::default();
        let from = |id: u64| SocketAddr::from(([127, 0, 0, 1], id as u16));
        let mut tasks = Vec::new();
        let last = STRANGERS_MAX as u64;
        for id in 0..last {
            let task = tokio::spawn(pending::<()>());
            assert_eq!(
                strangers.on_arrived(id, from(id), task.abort_handle()),
                None
            );
            tasks.push(task);
        }
        strangers.on_known(0);
        let others = tokio::spawn(pending::<()>());
        assert_eq!(
            strangers.on_arrived(last, from(last), others.abort_handle()),
            None
        );
        let one_more = tokio::spawn(pending::<()>());
        let gone = strangers.on_arrived(last + 1, from(last + 1), one_more.abort_handle());
        assert_eq!(gone, Some(from(1)), "the first one is known");
        let ended = tasks.remove(1).await;
        assert!(ended.is_err_and(|it| it.is_cancelled()));
        assert!(!tasks[0].is_finished() && !tasks[1].is_finished());
    }
}
