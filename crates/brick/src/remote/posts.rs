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
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How long a message waits for a stream.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// Bytes that wait for streams, to all nodes together.
const BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
struct Post {
    to: Member,
    bytes: Arc<Vec<u8>>,
    since: Instant,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Posts {
    unsent: VecDeque<Post>,
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
            if self.bytes + bytes.len() > BYTES_MAX {
                core.stats().clients.messages_lost.add(1);
                continue;
            }
            self.bytes += bytes.len();
            self.unsent.push_back(Post {
                to,
                bytes: Arc::clone(&bytes),
                since: core.now,
            });
        }
    }

    /// Sends what there are streams for.
    pub(super) fn send(&mut self, core: &mut Core) {
        let mut waits = BTreeSet::new();
        for _ in 0..self.unsent.len() {
            let Some(post) = self.unsent.pop_front() else {
                return;
            };
            if waits.contains(&post.to) || !send(core, &post) {
                if core.now - post.since < KEPT_FOR {
                    waits.insert(post.to);
                    self.unsent.push_back(post);
                    continue;
                }
                core.stats().clients.messages_lost.add(1);
            }
            assert!(
                self.bytes >= post.bytes.len(),
                "a message of {} bytes of {}",
                post.bytes.len(),
                self.bytes
            );
            self.bytes -= post.bytes.len();
        }
        assert!(
            !self.unsent.is_empty() || self.bytes == 0,
            "{} bytes of no message",
            self.bytes
        );
    }
}

/// Sends one, if there is a stream with room; else has one dialed.
fn send(core: &mut Core, post: &Post) -> bool {
    let catalog = core.tables.catalog();
    match core.replicas.link_to(catalog, post.to) {
        Some((link, _)) => core.replicas.engine.outbox.message(link, &post.bytes),
        None => {
            let dial = replica_of(catalog, post.to).map(Effect::Dial);
            core.effects.extend(dial);
            false
        }
    }
}
