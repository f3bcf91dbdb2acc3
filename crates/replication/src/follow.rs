//! This brick as a backup: a view's beginning, its records, the primary's commit positions.
//!
//! Everything here comes from a peer. What may come and is not wanted is refused; what no correct peer sends
//! is an error, and the host closes the link. Nothing panics, and nothing committed is cut.

use crate::frame::{Begin, Commits, FrameError, Reason, Refuse};
use crate::partition::Partition;
use crate::view::own_header;
use crate::{Entry, Host, LinkId, Replicator, Request, Role, Turn, ViewStart};
use brickyard_types::record::{self, Kind, Record, flag};
use brickyard_types::{Op, PartitionId, View};

const fn broken<T>(what: &'static str) -> Result<T, FrameError> {
    Err(FrameError::Protocol { what })
}

impl<P> Replicator<P> {
    /// The primary begins a view here, or begins it again.
    pub(crate) fn on_begin<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        begin: &Begin,
    ) -> Result<(), FrameError> {
        let mut refuse = Refuse {
            partition: begin.partition,
            view: begin.view,
            op: begin.first.1.next(),
            reason: Reason::NewView,
        };
        let Some(peer) = self.link(link).map(|it| it.peer) else {
            return Ok(());
        };
        let slot = self.partitions.find(begin.partition);
        let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
        let Some((slot, it)) = found else {
            // PROTOCOL rule 11: only the map makes a brick a member. It may be on its way.
            self.refuse(link, refuse);
            return Ok(());
        };
        if let Err(reason) = may_begin(it, peer, begin) {
            refuse.reason = reason;
            if [it.follow.stream, it.follow.claimed].contains(&Some(link)) {
                // What follows belongs to the view that is refused.
                it.follow.detach(it.log.committed);
            }
            self.refuse(link, refuse);
            return Ok(());
        }
        if it.table != begin.table {
            return broken("a partition of another table");
        }
        it.follow.detach(it.log.committed);
        self.append_again(host, slot);
        let Some(it) = self.partitions.get_mut(slot) else {
            return Ok(());
        };
        if begin.is_learner {
            it.follow.claimed = Some(link);
            self.claim(link, slot);
            return Ok(());
        }
        match agreement(it, begin) {
            Ok(op) => self.follow(host, link, slot, begin, op),
            Err((reason, what)) => {
                it.follow.begun = View(0);
                let partition = it.id;
                refuse.reason = reason;
                self.refuse(link, refuse);
                let what = format!("{what} (view {}, from {peer})", begin.view);
                self.requests.push_back(Request::Report { partition, what });
                self.tell(host, slot);
            }
        }
        Ok(())
    }

    /// The logs agree up to `op`: what is above it here goes, and the stream is followed.
    fn follow<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        slot: u32,
        begin: &Begin,
        op: Op,
    ) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if it.log.lineage == 0 {
            it.log.lineage = begin.lineage;
        }
        if op < it.log.last.1 || it.log.owes_cut {
            put_cut(host, it, op);
            let mut gone = it.log.cut(op);
            if !gone.is_empty() {
                host.cut(it.id, &mut gone.drain(..).rev());
            }
        }
        it.follow.stream = Some(link);
        it.follow.begun = begin.view;
        it.follow.reach = begin.last;
        it.follow.is_short = it.log.last.1 < begin.last;
        // Both logs agree up to the cut, so what the primary committed of it is committed.
        it.follow.known_commit = begin.first.1;
        self.step_in(link, slot);
        self.make_ready(slot);
        self.tell(host, slot);
    }

    /// The partition is in step on this stream: its votes cover it, as far as its log goes.
    pub(crate) fn step_in(&mut self, link: LinkId, slot: u32) {
        let Some(it) = self.partitions.get(slot) else {
            return;
        };
        let (partition, mark) = (it.id, it.log.mark);
        self.own.newest = self.own.newest.max(mark);
        if let Some(link) = self.link_mut(link) {
            link.receiver.refused.remove(&partition);
            // PROTOCOL rule 28: the cut is in the log before the first vote of the view. So is everything
            // that is held from before and will not be sent to the log again.
            link.receiver.mark = link.receiver.mark.max(mark);
        }
    }

    /// Prepared records, of any partitions that began on this stream.
    pub(crate) fn on_records<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        mut bytes: &[u8],
    ) -> Result<(), FrameError> {
        let mut found: Option<(PartitionId, u32)> = None;
        while !bytes.is_empty() {
            let Ok(record) = record::decode(bytes) else {
                return broken("a damaged record");
            };
            let (raw, rest) = bytes.split_at(record.len);
            bytes = rest;
            let partition = record.header.partition;
            let slot = match found {
                Some((last, slot)) if last == partition => Some(slot),
                _ => self.partitions.find(partition),
            };
            if let Some(slot) = slot {
                found = Some((partition, slot));
            }
            self.on_record(host, link, slot, &record, raw)?;
        }
        Ok(())
    }

    fn on_record<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        slot: Option<u32>,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<(), FrameError> {
        let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
        let Some((slot, it)) = found.filter(|(_, it)| it.follow.stream == Some(link)) else {
            // PROTOCOL rule 1: its refusal went ahead, and holds for all of them until it begins again.
            let link = self.link(link);
            let is_refused =
                link.is_some_and(|it| it.receiver.refused.contains_key(&record.header.partition));
            return if is_refused {
                Ok(())
            } else {
                broken("a record of a partition that did not begin")
            };
        };
        let header = &record.header;
        let is_streamed = matches!(
            header.kind,
            Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear | Kind::ViewStart
        );
        if !is_streamed || header.table != it.table || header.flags & flag::MOVED != 0 {
            return broken("a record that is not one of the stream");
        }
        if header.committed.is_none() || header.view > it.place.view {
            return broken("a record that was not prepared in this view");
        }
        match place_of(it, record) {
            Fit::Held => return Ok(()),
            Fit::Next => {}
            Fit::Gap => {
                self.leave(slot, Reason::Gap);
                self.tell(host, slot);
                return Ok(());
            }
        }
        let (mark, payload) = match host.append(record, raw) {
            Ok(appended) => appended,
            Err(what) => {
                let partition = it.id;
                self.requests.push_back(Request::Report { partition, what });
                self.leave(slot, Reason::Log);
                self.tell(host, slot);
                return Ok(());
            }
        };
        it.log.push(Entry {
            view: header.view,
            op: header.op,
            mark,
            turn: Turn(0),
            payload,
        });
        let has_reached = it.follow.is_short && header.op >= it.follow.reach;
        if has_reached {
            it.follow.is_short = false;
        }
        if header.op <= it.follow.known_commit {
            self.make_ready(slot);
        }
        if has_reached {
            self.tell(host, slot);
        }
        self.own.newest = self.own.newest.max(mark);
        if let Some(link) = self.link_mut(link) {
            link.receiver.mark = link.receiver.mark.max(mark);
        }
        Ok(())
    }

    /// A turn of the sender is complete.
    pub(crate) fn on_turn(
        &mut self,
        link: LinkId,
        turn: Turn,
        commits: Commits<'_>,
    ) -> Result<(), FrameError> {
        for (partition, op) in commits.iter() {
            let slot = self.partitions.find(partition);
            let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
            // PROTOCOL rule 2: positions of another stream are dropped.
            if let Some((slot, it)) = found.filter(|(_, it)| it.follow.stream == Some(link))
                && op > it.follow.known_commit
            {
                it.follow.known_commit = op;
                self.make_ready(slot);
            }
        }
        if turn != Turn(0)
            && let Some(link) = self.link_mut(link)
        {
            if turn <= link.receiver.received {
                return broken("a turn that is not newer than the last");
            }
            link.receiver.on_turn(turn);
        }
        Ok(())
    }
}

/// Whether this sender may begin this view here.
fn may_begin<P>(
    it: &Partition<P>,
    peer: brickyard_routing::Seat,
    begin: &Begin,
) -> Result<(), Reason> {
    // PROTOCOL rule 11: a view below one that was acknowledged is refused as long as this incarnation lives.
    if begin.view < it.place.acknowledged() {
        return Err(Reason::OldView);
    }
    if begin.view > it.place.view {
        return Err(Reason::NewView);
    }
    // PROTOCOL rules 10 and 11: the map says who is a member, and in which incarnation.
    let role = if begin.is_learner {
        Role::Learner
    } else {
        Role::Backup
    };
    if it.place.role != role || it.place.primary != peer || it.place.lineage != begin.lineage {
        return Err(Reason::NotMember);
    }
    Ok(())
}

/// The last op up to which this log and the primary's agree. That is at or above both commit positions, or
/// something is wrong that no cut puts right.
fn agreement<P>(it: &Partition<P>, begin: &Begin) -> Result<Op, (Reason, &'static str)> {
    let log = &it.log;
    if log.partial.is_some() || (log.lineage != 0 && log.lineage != begin.lineage) {
        return Err((Reason::Behind, "an in-sync member has not caught up"));
    }
    // PROTOCOL rule 28: nothing at or below the own commit position is cut.
    let anchor = log.committed.max(begin.first.1);
    if !is_same(log.view_at(anchor), begin.view_at(anchor)) {
        return Err(if log.committed >= begin.first.1 {
            let what = "the primary's log does not have what is committed here";
            (Reason::Damage, what)
        } else {
            (
                Reason::Behind,
                "an in-sync member lacks committed operations",
            )
        });
    }
    let mut op = anchor;
    while op < log.last.1 && is_same(log.view_at(op.next()), begin.view_at(op.next())) {
        op = op.next();
    }
    Ok(op)
}

/// Whether two logs hold the same at an op: both hold it, of the same view.
fn is_same(held: Option<View>, sent: Option<View>) -> bool {
    held.is_some() && held == sent
}

/// Where a record stands to what is held.
enum Fit {
    Held,
    Next,
    Gap,
}

fn place_of<P>(it: &Partition<P>, record: &Record<'_>) -> Fit {
    let (view, op) = (record.header.view, record.header.op);
    let last = it.log.last;
    if op <= last.1 {
        let held = it.log.view_at(op);
        // Of what is committed and long ago, the view may be forgotten; the beginning has compared it.
        let is_held = is_same(held, Some(view)) || (held.is_none() && op <= it.log.committed);
        return if is_held { Fit::Held } else { Fit::Gap };
    }
    // PROTOCOL rule 2: a record is appended only when it follows the one before it.
    if op != last.1.next() || view < last.0 {
        return Fit::Gap;
    }
    if record.header.kind == Kind::ViewStart {
        // PROTOCOL rule 28: a view's first record names its predecessor.
        let start = ViewStart::decode(record.value);
        if start.map(|start| start.predecessor) != Some(last) {
            return Fit::Gap;
        }
    }
    Fit::Next
}

/// Writes into the own log that the ops above `op` are cut (PROTOCOL rule 28).
pub(crate) fn put_cut<P, H: Host<Payload = P>>(host: &mut H, it: &mut Partition<P>, op: Op) {
    put_cut_above(host, it, op.max(it.log.committed));
}

/// The same, also below the commit position: where an unfinished catch-up goes back to.
pub(crate) fn put_cut_above<P, H: Host<Payload = P>>(host: &mut H, it: &mut Partition<P>, op: Op) {
    let header = own_header(Kind::Cut, it, op, it.log.committed);
    let (mark, _) = host.append_own(&header, &[]);
    it.log.cut_mark = mark;
    it.log.owes_cut = false;
    it.log.note(mark);
}
