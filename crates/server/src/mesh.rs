//! Bounded queues between the loops of a node: every brick to every other, one writer, one reader.
//!
//! In:  batches of one brick for another, in order. Out: the same batches there, in order.
//!
//! Invariants:
//! - Nothing is dropped and nothing overtakes: what a full ring refuses waits at the sender, in
//!   order, and so does everything after it.
//! - While anything waits at the sender, its loop takes no new requests ([`Endpoint::is_backed_up`]),
//!   so what waits is bounded by what its clients already asked. It goes on handling what the others
//!   send; two full rings that face each other therefore empty.

use crate::wake::Waker;
use brickyard_types::BrickId;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::collections::VecDeque;
use std::sync::Arc;

/// Batches that a ring holds. A batch is all that one turn has for one neighbour, so a reader that
/// is this far behind has missed 128 turns of the writer.
const RING_BATCHES: usize = 128;

/// One brick's end of all its queues.
#[derive(Debug)]
pub(crate) struct Endpoint<T> {
    links: Vec<Option<Link<T>>>,
    wakers: Arc<[Waker]>,
}

#[derive(Debug)]
struct Link<T> {
    out: Producer<T>,
    waiting: VecDeque<T>,
    /// Something was pushed and its reader not yet woken.
    is_dirty: bool,
    incoming: Consumer<T>,
}

/// The ends of a full mesh; `wakers` has one for each brick.
pub(crate) fn endpoints<T>(wakers: &Arc<[Waker]>) -> Vec<Endpoint<T>> {
    let count = wakers.len();
    let mut producers: Vec<Vec<Option<Producer<T>>>> = Vec::new();
    let mut consumers: Vec<Vec<Option<Consumer<T>>>> = (0..count)
        .map(|_| (0..count).map(|_| None).collect())
        .collect();
    for from in 0..count {
        let mut row = Vec::with_capacity(count);
        for (to, readers) in consumers.iter_mut().enumerate() {
            if from == to {
                row.push(None);
                continue;
            }
            let (producer, consumer) = RingBuffer::new(RING_BATCHES);
            row.push(Some(producer));
            readers[from] = Some(consumer);
        }
        producers.push(row);
    }
    producers
        .into_iter()
        .zip(consumers)
        .map(|(producers, consumers)| Endpoint {
            links: producers
                .into_iter()
                .zip(consumers)
                .map(|ends| match ends {
                    (Some(out), Some(incoming)) => Some(Link {
                        out,
                        waiting: VecDeque::new(),
                        is_dirty: false,
                        incoming,
                    }),
                    _ => None,
                })
                .collect(),
            wakers: Arc::clone(wakers),
        })
        .collect()
}

impl<T> Endpoint<T> {
    /// Queues a batch for another brick; it is told at the next [`Endpoint::flush`].
    ///
    /// # Panics
    /// If there is no such brick, or it is this one (a bug in the brick).
    pub(crate) fn send(&mut self, to: BrickId, batch: T) {
        let link = self.links.get_mut(to.0 as usize).and_then(Option::as_mut);
        let Some(link) = link else {
            panic!("brick {to} is not a neighbour: forwards go to other bricks of the node");
        };
        link.waiting.push_back(batch);
    }

    /// Moves what waits into the rings and wakes the readers of what is new.
    pub(crate) fn flush(&mut self) {
        for (index, link) in self.links.iter_mut().enumerate() {
            let Some(link) = link else { continue };
            while let Some(batch) = link.waiting.pop_front() {
                match link.out.push(batch) {
                    Ok(()) => link.is_dirty = true,
                    Err(PushError::Full(batch)) => {
                        link.waiting.push_front(batch);
                        break;
                    }
                }
            }
            if std::mem::take(&mut link.is_dirty)
                && let Some(waker) = self.wakers.get(index)
            {
                waker.wake();
            }
        }
    }

    /// Whether something waits because a ring is full.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.links
            .iter()
            .flatten()
            .any(|link| !link.waiting.is_empty())
    }

    /// Whether another brick sent something.
    pub(crate) fn has_incoming(&self) -> bool {
        self.links
            .iter()
            .flatten()
            .any(|link| !link.incoming.is_empty())
    }

    /// Takes one batch that another brick sent.
    pub(crate) fn poll_incoming(&mut self) -> Option<(BrickId, T)> {
        self.links.iter_mut().enumerate().find_map(|(index, link)| {
            let batch = link.as_mut()?.incoming.pop().ok()?;
            u32::try_from(index)
                .ok()
                .map(|index| (BrickId(index), batch))
        })
    }
}

#[cfg(test)]
#[path = "mesh_test.rs"]
mod mesh_test;
