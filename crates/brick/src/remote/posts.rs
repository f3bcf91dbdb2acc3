//! Messages to channels, and notices about copies of keys, on their way to other nodes: nobody answers them here.
//!
//! In:  messages that were published here, notices. Out: bytes for the streams to one brick of each other node, in order.
//!
//! Invariants:
//! - One way to a node: what is published later comes later.
//! - What cannot be sent within [`KEPT_FOR`], or for which there is no room, is lost and counted: a node that is gone holds up nobody.

use super::message::{encode_notice, encode_published};
use crate::channels::Published;
use crate::core::Core;
use crate::effect::Effect;
use crate::replica::replica_of;
use crate::tracking::Notice;
use brickyard_routing::Member;
use brickyard_types::{BrickId, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How long a message waits for a stream.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// Bytes that wait for streams, to all nodes together.
const BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
struct Post {
    bytes: Arc<Vec<u8>>,
    since: Instant,
    /// One to a channel.
    is_counted: bool,
}

impl Post {
    /// Bytes of memory, about.
    fn cost(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }

    fn note_lost(&self, core: &Core) {
        core.stats()
            .clients
            .messages_lost
            .add(u64::from(self.is_counted));
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Posts {
    unsent: BTreeMap<Member, VecDeque<Post>>,
    bytes: usize,
}

impl Posts {
    /// A message goes to each other node.
    pub(super) fn add(&mut self, core: &Core, published: &Published) {
        let own = core.member();
        let nodes = core.tables.catalog().nodes();
        let others = nodes.filter(|node| node.id != own.node);
        let to = others.filter_map(|node| {
            let bricks = u32::try_from(node.bricks().len()).unwrap_or(u32::MAX);
            let brick = BrickId(own.brick.0.checked_rem(bricks)?);
            Some(Member {
                node: node.id,
                brick,
            })
        });
        let to: Vec<Member> = to.collect();
        if to.is_empty() {
            return;
        }
        let bytes = Arc::new(encode_published(published));
        for to in to {
            self.post(core, to, Arc::clone(&bytes), true);
        }
    }

    /// A brick of another node is told something about copies of keys. Who waits for its answer is patient for less than this is kept.
    pub(super) fn tell(&mut self, core: &Core, to: Member, notice: &Notice) {
        self.post(core, to, Arc::new(encode_notice(notice)), false);
    }

    fn post(&mut self, core: &Core, to: Member, bytes: Arc<Vec<u8>>, is_counted: bool) {
        assert_ne!(
            to.node,
            core.member().node,
            "a message leaves for its own node"
        );
        let post = Post {
            bytes,
            since: core.now,
            is_counted,
        };
        if self.bytes + post.cost() > BYTES_MAX {
            return post.note_lost(core);
        }
        self.bytes += post.cost();
        self.unsent.entry(to).or_default().push_back(post);
    }

    /// Sends what there are streams for. Of those that wait only the first is looked at, however many there are.
    pub(super) fn send(&mut self, core: &mut Core) {
        for (to, posts) in &mut self.unsent {
            let mut is_open = true;
            while let Some(post) = posts.front() {
                is_open = is_open && send(core, *to, &post.bytes);
                if !is_open && core.now - post.since < KEPT_FOR {
                    break;
                }
                if !is_open {
                    post.note_lost(core);
                }
                let cost = post.cost();
                assert!(
                    self.bytes >= cost,
                    "a message of {cost} bytes of {}",
                    self.bytes
                );
                self.bytes -= cost;
                posts.pop_front();
            }
        }
        self.unsent.retain(|_, posts| !posts.is_empty());
        assert!(
            !self.unsent.is_empty() || self.bytes == 0,
            "{} bytes of no message",
            self.bytes
        );
    }
}

/// Sends one, if there is a stream with room; else has one dialed.
fn send(core: &mut Core, to: Member, bytes: &[u8]) -> bool {
    let catalog = core.tables.catalog();
    match core.replicas.link_to(catalog, to) {
        Some((link, _)) => core.replicas.engine.outbox.message(link, bytes),
        None => {
            let dial = replica_of(catalog, to).map(Effect::Dial);
            core.effects.extend(dial);
            false
        }
    }
}
