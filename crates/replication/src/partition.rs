//! One partition on this brick: its place in the map, its log, and what it does as primary or as follower.

use crate::log::Log;
use crate::member::{Copy, Member, Phase};
use crate::ready::{Action, Ready};
use crate::{LinkId, Role, Status};
use brickyard_routing::Replica;
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Durability, Instant, Op, PartitionId, TableId, View};

#[derive(Debug)]
pub(crate) struct Partition {
    /// Its place among the partitions.
    pub(crate) slot: u32,
    pub(crate) id: PartitionId,
    pub(crate) table: TableId,
    pub(crate) durability: Durability,
    pub(crate) place: Place,
    pub(crate) log: Log,
    pub(crate) lead: Lead,
    pub(crate) follow: Follow,
    /// Something that the own log refused waits to be appended again, since this instant.
    pub(crate) retrying: Option<Instant>,
    /// What the owner was told last.
    pub(crate) told: Status,
}

/// What the map says, and which views were acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The last effective view that was adopted; 0: none.
    pub(crate) view: View,
    /// The role in it; never `Stopped`.
    pub(crate) role: Role,
    pub(crate) primary: Replica,
    pub(crate) generation: u32,
    /// Members in sync, and how many writes ask for.
    pub(crate) in_sync: usize,
    pub(crate) min_in_sync: usize,
    /// Copies that there should be.
    pub(crate) replicas: usize,
    /// Acknowledged as one of those it removes: nothing of an older view is served, voted for or committed.
    pub(crate) stopped: View,
    /// Acknowledged as its primary: nothing of an older view is voted for or committed (rule
    /// `a primary accepts its view`).
    pub(crate) accepted: View,
    /// It is to be accepted, and waits for the former primary.
    pub(crate) awaited: Option<Awaited>,
    /// A change is under way that names another primary: what is prepared now would be cut.
    pub(crate) is_handing_over: bool,
    /// It is to be split: its primary comes to rest.
    pub(crate) pending_split: Option<PendingSplit>,
}

/// A view that this brick is to accept as its primary, once the former one has sent all that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    pub(crate) view: View,
    pub(crate) since: Instant,
}

/// A split that a primary was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingSplit {
    /// The view that it is bound to.
    pub(crate) view: View,
    /// Names it among the splits of the partition.
    pub(crate) begun_at: u64,
}

/// What only a primary has.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    /// The other members.
    pub(crate) members: Vec<Member>,
    /// Entries at the end of the log that were not flushed yet.
    pub(crate) unsent: usize,
    pub(crate) is_dirty: bool,
    pub(crate) is_due: bool,
    pub(crate) is_ready: bool,
    pub(crate) is_announced: bool,
    pub(crate) is_busy: bool,
    /// When the control plane was last told that the partition may be split.
    pub(crate) split_asked: Option<Instant>,
}

/// What only a backup or a learner has.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// The stream that records are accepted from: the one on which the primary of the current view began.
    pub(crate) stream: Option<LinkId>,
    /// The stream on which a learner's claim was sent and no answer has come.
    pub(crate) reported_to: Option<LinkId>,
    /// How far the primary says that it has committed.
    pub(crate) known_commit: Op,
    /// The view before which the primary says that it prepares nothing more; 0: none.
    pub(crate) yielded: View,
    /// The view in which reads are served once `reach` is there; 0: none.
    pub(crate) begun: View,
    /// The end of the primary's pending list when the view began here.
    pub(crate) reach: Op,
    /// `reach` has not been reached.
    pub(crate) is_short: bool,
    /// Copies come in; they end at this record.
    pub(crate) copying: Option<(View, Op)>,
}

impl Follow {
    /// Whether its records, or copies, come on some stream.
    pub(crate) const fn has_stream(&self) -> bool {
        self.stream.is_some() || self.reported_to.is_some()
    }

    /// The stream is gone: nothing more comes from it, commit positions included.
    pub(crate) fn detach(&mut self, committed: Op) {
        self.stream = None;
        self.reported_to = None;
        self.copying = None;
        self.known_commit = committed;
        self.yielded = View(0);
    }
}

impl Place {
    /// The highest view that was acknowledged in any way (rule `acknowledged views are remembered`).
    pub(crate) fn acknowledged(&self) -> View {
        self.view.max(self.stopped).max(self.accepted)
    }

    /// Votes and commits in the current view are allowed (rules `a primary accepts its view` and
    /// `acknowledged views are remembered`).
    pub(crate) fn is_current(&self) -> bool {
        self.stopped <= self.view && self.accepted <= self.view
    }
}

impl Partition {
    pub(crate) fn new(slot: u32, id: PartitionId, table: TableId) -> Self {
        Self {
            slot,
            id,
            table,
            durability: Durability::Fsync,
            place: Place::default(),
            log: Log::new(),
            lead: Lead::default(),
            follow: Follow::default(),
            retrying: None,
            told: Status::default(),
        }
    }

    /// This brick orders the partition's operations and may act on it.
    #[inline]
    pub(crate) fn leads(&self) -> bool {
        self.place.role == Role::Primary && self.place.is_current()
    }

    pub(crate) fn status(&self) -> Status {
        let place = &self.place;
        let is_stopped = place.stopped > place.view;
        let (role, serves_reads, accepts_writes) = match place.role {
            Role::Primary | Role::Backup if is_stopped => (Role::Stopped, false, false),
            Role::Primary => {
                let is_writable = place.accepted <= place.view
                    && !place.is_handing_over
                    && place.pending_split.is_none_or(|it| it.view != place.view)
                    && place.in_sync >= place.min_in_sync
                    && self.retrying.is_none();
                (Role::Primary, true, is_writable)
            }
            Role::Backup => {
                // Rule `waiting reads are admitted anew`: not before the view's first message, and what it found
                // prepared, is here.
                let has_reached = self.follow.begun == place.view && !self.follow.is_short;
                (Role::Backup, has_reached, false)
            }
            role => (role, false, false),
        };
        Status {
            role,
            view: place.view,
            serves_reads,
            accepts_writes,
            is_alone: self.is_alone(),
        }
    }

    /// Whether this brick leads the partition and nobody else votes.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        let place = &self.place;
        let is_stopped = place.stopped > place.view;
        place.role == Role::Primary && !is_stopped && self.lead.members.is_empty()
    }

    /// The first `count` pending entries are committed.
    pub(crate) fn commit(&mut self, count: usize, ready: &mut Ready) {
        let pending = self.log.pending.len();
        assert!(count <= pending, "{count} of {pending} commit");
        if count == 0 {
            return;
        }
        let upto = self.log.commit(count);
        assert!(
            self.lead.unsent <= pending - count,
            "{} of {pending} were not sent, and {count} commit",
            self.lead.unsent
        );
        let partition = self.id;
        ready.push(Action::Commit { partition, upto });
    }

    /// The entries above `above` will never commit here; it is not below the commit position.
    pub(crate) fn cut(&mut self, above: Op, ready: &mut Ready) {
        if self.log.cut(above) > 0 {
            let partition = self.id;
            ready.push(Action::Cut { partition, above });
        }
    }

    /// Tells the owner if the status is another than before.
    pub(crate) fn tell(&mut self, ready: &mut Ready) {
        let status = self.status();
        assert!(
            !status.accepts_writes || status.role == Role::Primary,
            "{:?} takes writes",
            status.role
        );
        if std::mem::replace(&mut self.told, status) != status {
            let partition = self.id;
            ready.push(Action::Changed { partition, status });
        }
    }

    /// The header of a control record.
    pub(crate) const fn header(&self, kind: Kind, op: Op, committed: Op) -> Header {
        Header {
            kind,
            flags: 0,
            table: self.table,
            partition: self.id,
            view: self.place.view,
            op,
            expires_at: None,
            request: None,
            origin: None,
            committed: Some(committed),
        }
    }

    /// Whether a learner is being sent copies on this stream.
    pub(crate) fn is_copying_on(&self, link: LinkId) -> bool {
        let mut members = self.lead.members.iter();
        members.any(|it| it.link == Some(link) && matches!(it.copy, Copy::Running(_)))
    }

    /// The member that is reached by this link and waits for nothing else.
    pub(crate) fn member_on(&mut self, link: LinkId) -> Option<&mut Member> {
        let members = self.lead.members.iter_mut();
        members
            .filter(|member| member.link == Some(link))
            .find(|member| member.phase != Phase::Unlinked)
    }
}
