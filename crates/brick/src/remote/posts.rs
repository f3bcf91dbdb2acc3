//! Messages to channels, on their way to other nodes: nobody answers them.
//!
//! In:  messages that were published here. Out: bytes for the streams to one brick of each other node, in order.
//!
//! Invariants:
//! - One way to a node: what is published later comes later.
//! - What cannot be sent within [`KEPT_FOR`], or for which there is no room, is lost and counted: a node that is gone holds up nobody.

use super::message::encode_published;
use crate::channels::Published;
use crate::core::Core;
use crate::effect::Effect;
use crate::replica::replica_of;
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
}

impl Post {
    /// Bytes of memory, about.
    fn cost(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
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
            assert_ne!(to.node, own.node, "a message leaves for its own node");
            let post = Post {
                bytes: Arc::clone(&bytes),
                since: core.now,
            };
            if self.bytes + post.cost() > BYTES_MAX {
                core.stats().clients.messages_lost.add(1);
                continue;
            }
            self.bytes += post.cost();
            self.unsent.entry(to).or_default().push_back(post);
        }
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
                    core.stats().clients.messages_lost.add(1);
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
