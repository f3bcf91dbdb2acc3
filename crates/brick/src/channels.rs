//! Channels: who on this node subscribes to what.
//!
//! In:  what clients of all bricks of the node subscribe to. Out: for a message, which bricks have somebody who gets it, and how many
//!      those are.
//!
//! ```text
//! PUBLISH ─▶ NodeChannels: how many here, on which bricks ─▶ the publisher's reply
//!    │
//!    ├─▶ this brick's subscribers (`clients/subscribers`)
//!    ├─▶ the node's other bricks that have some
//!    └─▶ one brick of each other node (`remote/posts`) ─▶ the same there
//! ```
//! A message is heard at most once by whoever subscribes when it comes, in the order in which one connection published. It is kept nowhere.
//!
//! Invariants:
//! - What a client subscribes to is known to all bricks of its node before it is told so: what is published here after that reaches it.
//! - A name that nobody subscribes to takes no memory.

use brickyard_command::glob;
use brickyard_types::BrickId;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What somebody may subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A channel.
    Channel,
    /// All channels whose names match.
    Pattern,
    /// A channel of its own space of names, whose name has a slot.
    Sharded,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Sharded];
}

/// A message to a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub(crate) is_sharded: bool,
    pub(crate) channel: Vec<u8>,
    pub(crate) message: Vec<u8>,
}

impl Published {
    /// The kind of its channel.
    pub(crate) const fn kind(&self) -> Kind {
        match self.is_sharded {
            true => Kind::Sharded,
            false => Kind::Channel,
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.channel.len() + self.message.len()
    }
}

/// How many clients of each brick.
type Counts = Vec<u32>;

/// See the module.
#[derive(Debug, Default)]
pub struct NodeChannels {
    /// By [`Kind`].
    names: RwLock<[BTreeMap<Vec<u8>, Counts>; 3]>,
}

/// Who on the node gets a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receivers {
    /// As many clients; one that subscribes in several ways counts as often.
    pub(crate) count: u64,
    /// On these bricks.
    pub(crate) bricks: Vec<BrickId>,
}

impl NodeChannels {
    fn read(&self) -> RwLockReadGuard<'_, [BTreeMap<Vec<u8>, Counts>; 3]> {
        self.names.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, [BTreeMap<Vec<u8>, Counts>; 3]> {
        self.names.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client of that brick subscribes from now on.
    pub(crate) fn add(&self, kind: Kind, name: &[u8], brick: BrickId) {
        let mut names = self.write();
        let counts = names[kind as usize].entry(name.to_vec()).or_default();
        let at = brick.0 as usize;
        if counts.len() <= at {
            counts.resize(at + 1, 0);
        }
        counts[at] += 1;
    }

    /// It subscribes no more.
    pub(crate) fn remove(&self, kind: Kind, name: &[u8], brick: BrickId) {
        let mut names = self.write();
        let names = &mut names[kind as usize];
        let counts = names.get_mut(name);
        let count = counts.and_then(|counts| counts.get_mut(brick.0 as usize));
        let count = count.expect("somebody subscribed");
        assert!(*count > 0, "more clients stop than subscribed");
        *count -= 1;
        if names[name].iter().all(|count| *count == 0) {
            names.remove(name);
        }
    }

    /// Who gets a message.
    pub(crate) fn receivers(&self, published: &Published) -> Receivers {
        let names = self.read();
        let mut by_brick: Vec<u64> = Vec::new();
        let mut add = |counts: &Counts| {
            by_brick.resize(by_brick.len().max(counts.len()), 0);
            for (sum, count) in by_brick.iter_mut().zip(counts) {
                *sum += u64::from(*count);
            }
        };
        if let Some(counts) = names[published.kind() as usize].get(&published.channel) {
            add(counts);
        }
        if !published.is_sharded {
            let patterns = names[Kind::Pattern as usize].iter();
            patterns
                .filter(|(pattern, _)| glob::matches(pattern, &published.channel, false))
                .for_each(|(_, counts)| add(counts));
        }
        let bricks = (0..).zip(&by_brick).filter(|(_, count)| **count > 0);
        let receivers = Receivers {
            bricks: bricks.map(|(brick, _)| BrickId(brick)).collect(),
            count: by_brick.iter().sum(),
        };
        assert!(
            receivers.count >= receivers.bricks.len() as u64,
            "bricks without subscribers: {receivers:?}"
        );
        receivers
    }

    /// The names of a kind that somebody subscribes to, or those of them that match.
    pub(crate) fn names(&self, kind: Kind, pattern: Option<&[u8]>) -> Vec<Vec<u8>> {
        let names = self.read();
        let is_wanted = |name: &&Vec<u8>| pattern.is_none_or(|it| glob::matches(it, name, false));
        names[kind as usize]
            .keys()
            .filter(is_wanted)
            .cloned()
            .collect()
    }

    /// How many clients subscribe to a name.
    pub(crate) fn subscribers(&self, kind: Kind, name: &[u8]) -> u64 {
        let names = self.read();
        let counts = names[kind as usize].get(name);
        counts.map_or(0, |counts| counts.iter().copied().map(u64::from).sum())
    }

    /// How many names of a kind there are.
    pub(crate) fn len(&self, kind: Kind) -> usize {
        self.read()[kind as usize].len()
    }
}

#[cfg(test)]
mod channels_test {
    use super::*;

    fn published(channel: &str) -> Published {
        Published {
            is_sharded: false,
            channel: channel.as_bytes().to_vec(),
            message: b"m".to_vec(),
        }
    }

    #[test]
    fn a_message_goes_to_bricks_that_have_subscribers_and_each_way_of_subscribing_counts() {
        let channels = NodeChannels::default();
        assert_eq!(channels.receivers(&published("news")), Receivers::default());
        channels.add(Kind::Channel, b"news", BrickId(2));
        channels.add(Kind::Channel, b"news", BrickId(2));
        channels.add(Kind::Pattern, b"n*", BrickId(0));
        channels.add(Kind::Pattern, b"x*", BrickId(1));
        channels.add(Kind::Sharded, b"news", BrickId(1));
        let receivers = channels.receivers(&published("news"));
        assert_eq!(receivers.count, 3);
        assert_eq!(receivers.bricks, [BrickId(0), BrickId(2)]);
        let sharded = Published {
            is_sharded: true,
            ..published("news")
        };
        assert_eq!(channels.receivers(&sharded).bricks, [BrickId(1)]);
    }

    #[test]
    fn a_name_that_nobody_subscribes_to_is_gone() {
        let channels = NodeChannels::default();
        channels.add(Kind::Channel, b"a", BrickId(0));
        channels.add(Kind::Channel, b"a", BrickId(1));
        channels.add(Kind::Channel, b"b", BrickId(1));
        channels.remove(Kind::Channel, b"a", BrickId(0));
        assert_eq!(channels.subscribers(Kind::Channel, b"a"), 1);
        channels.remove(Kind::Channel, b"a", BrickId(1));
        assert_eq!(channels.names(Kind::Channel, None), [b"b"]);
        assert_eq!(channels.names(Kind::Channel, Some(b"a*")), [b""; 0]);
        assert_eq!(channels.len(Kind::Channel), 1);
    }
}
