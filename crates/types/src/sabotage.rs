//! Deliberate bugs, by which the judges are judged: for tests only.
//!
//! In:  a test says which bug is on in its thread ([`with`]). Out: whether one is ([`is`]), at the very line that
//! keeps the rule which the bug breaks. A room says what its judges find ([`Judges`]), and has that proved.
//!
//! Invariants:
//! - Without the feature `sabotage`, which no manifest turns on, [`is`] is the constant `false`: what it guards
//!   compiles to nothing. A program that is built with it by accident does not compile (`cli/src/main.rs`).
//! - One bug at a time, and of one thread: a schedule of state machines runs in one.
//!
//! Not here: who finds which bug, and how soon (docs/sabotage.md).

macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $bug:ident,)+) => {
        /// A deliberate bug. Numbers are rules of docs/protocol.md.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Bug {
            $($(#[doc = $doc])+ $bug,)+
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug),+];
        }
    };
}

bugs! {
    /// 1: a record is refused and its sender is not told, so that the next vote covers it.
    RefusalNotTold,
    /// 1: the sender of a refused record goes on counting votes.
    RefusalIgnored,
    /// 2: what was sent on an earlier stream counts as voted for on the next.
    VotesKeptAcrossReconnect,
    /// 2: a stream that begins anew does not bring what is pending.
    PendingNotSentAgain,
    /// 2: a stream that begins anew does not say what is committed.
    CommitPositionNotRepeated,
    /// 2: a record is not sent again, and what follows it is appended all the same.
    GapsAppended,
    /// 3: a grant counts before the map that it names is adopted.
    GrantBeforeAdoption,
    /// 3: a brick says that it has stopped when it hears of the removal, before it obeys.
    StoppedToldEarly,
    /// 4: a learner's promotion is asked for before it holds what was sent.
    PromotedBeforeAllIsHeld,
    /// 4: while a promotion is asked for the learner's vote is not required.
    PromotedNotRequired,
    /// 4: a required vote is forgotten when the learner's stream breaks.
    AskedNotRequired,
    /// 4: a learner that may have been promoted is dropped without a view that says so.
    AskedLearnerDropped,
    /// 5: a new primary reads what is committed, beside what it inherited.
    InheritedReadAtOnce,
    /// 5: what a new primary inherited commits without new votes.
    InheritedCommitted,
    /// 6: the primary of a proposed view begins it at once.
    ProposalActedOn,
    /// 6: a proposal counts although the view that it changes is over.
    StaleProposalApplied,
    /// 6: a view takes effect before those whom it removes have stopped.
    EffectiveUnfenced,
    /// 7: of two changes in a row only the last one's removals are fenced.
    OnlyPendingFenced,
    /// 8: a view takes effect before its primary has accepted it.
    EffectiveUnaccepted,
    /// 8: whoever accepted a view goes on voting and committing in the one before.
    AcceptedStillVotes,
    /// 8: a view is accepted before the log is synced.
    AcceptedUnsynced,
    /// 9: a restart cuts what its log does not show to be committed.
    RestartCuts,
    /// 9: of several logs after a full restart the shortest leads.
    ShortestLogLeads,
    /// 10: a brick that restarted takes its former life's place among those in sync.
    RejoinsInSync,
    /// 11: an older view's primary is followed after a newer one was acknowledged.
    OlderViewFollowed,
    /// 12: a learner's stream begins behind what is pending.
    LearnerFromNow,
    /// 13: a log whose end may be lost is taken for a whole one.
    UnsureTailTrusted,
    /// 13: the new boot's id is stored without the note that the tail is unsure.
    BootStoredFirst,
    /// 14: a deletion's record is dropped while an older segment has its key.
    TombstonesDroppedEarly,
    /// 14: dropped deletions do not raise the horizon.
    HorizonNotRaised,
    /// 14: a learner that needs dropped deletions is given the difference.
    HorizonIgnored,
    /// 14: a full copy is added to what was there.
    FullCopyAdds,
    /// 14: deletions during a catch-up are forgotten, and an older copy comes after them.
    DeletionsForgotten,
    /// 14: a catch-up brings no deletions.
    TombstonesNotCopied,
    /// 14: of two records with one op the wrong one is copied, or moved.
    OpAloneTells,
    /// 15: a replica whose catch-up has not finished claims all that it was sent.
    UnfinishedCopyClaimed,
    /// 15: a claim extends over gaps.
    GapsClaimed,
    /// 16: an answer that wrote nothing does not wait for what it was decided against.
    NoOpAnsweredAtOnce,
    /// 18: a removal of an expired value takes a newer one that is being written.
    ExpiryEatsNew,
    /// 19: a catch-up does not bring the ids of requests.
    WindowNotCopied,
    /// 19: an id stays known when its record is cut.
    WindowNotCut,
    /// 19: the cleaner drops the ids of requests with their segment.
    WindowNotMoved,
    /// 19: a request that was forgotten is executed again.
    ForgottenRunsAgain,
    /// 20: whoever registers with a node's key shows that the former process is dead.
    CloneTrusted,
    /// 21: what was moved away is put back at a restart.
    DropIgnored,
    /// 22: a lease counts from when its grant came.
    LeaseFromReceipt,
    /// 22: a new leader does not wait for what earlier ones granted.
    LeasesForgotten,
    /// 22: a voter that restarted says that it never heard a leader.
    VoterForgetsLeader,
    /// 22: a clock that jumped does not end the lease.
    ClockJumpIgnored,
    /// 22: the lease is looked at when a turn begins, not when its batch has been read.
    LeaseCheckedEarly,
    /// 23: a brick whose loop hangs has its lease renewed.
    HungLoopLeased,
    /// 24: a read that waited for its value is served whatever happened meanwhile.
    ParkedNotReadmitted,
    /// 25: the client of a write that was cut is told that it was not executed.
    CutToldRefused,
    /// 26: a read does not see its connection's own prepared write.
    OwnWriteNotSeen,
    /// 26: a read overtakes its connection's write that is on its way elsewhere.
    OwnWriteOvertaken,
    /// 27: a segment with pending records is cleaned.
    PendingCleaned,
    /// 27: a moved record is not marked, and looks at a restart as if the log had been cut there.
    MovedUnmarked,
    /// 27: segments are cleaned while a catch-up walks them.
    CleanedWhileCopied,
    /// 28: a cut is not in the log.
    CutNotWritten,
    /// 28: a log is cut below what it knows to be committed.
    CommittedCut,
    /// 28: records are taken whatever they follow: of two logs only the lengths are compared.
    PredecessorUnchecked,
    /// 29: what stands at a position is taken for the value that was there once.
    ReadUnchecked,
    /// 29: a small file is renamed into place before it is synced.
    RenamedUnsynced,
    /// 30: damage to a header is no damage to the partitions that miss a record.
    HeaderDamageContained,
    /// 31: a primary says that it is at rest while operations are pending.
    SplitUnrested,
    /// 31: the intent to split outlives the view that it was made for.
    SplitOutlivesView,
    /// 31: whoever was not in sync when the whole came to rest takes what it has pending for committed.
    StrayPendingParted,
    /// 31: the halves begin without the ids of requests that were executed on the whole.
    WindowNotParted,
    /// 31: records of the whole in the log belong to none of its halves.
    HeirsIgnored,
    /// 31: the operations of a merged whole begin behind the end of its left half alone.
    BaseOfOneHalf,
    /// 31: a merged whole begins in the view after that of its left half alone.
    ViewOfOneHalf,
    /// 31: a merged whole begins without the ids of requests that were executed on one half.
    WindowOfOneHalf,
    /// 31: what one half was cleared of goes out of the other one as well, at a restart.
    HalfClearsWhole,
    /// 31: what one half was cleared of is back in the merged whole after a restart.
    HalfClearForgotten,
    /// 31: the intent to merge outlives the views that it was made for.
    MergeOutlivesViews,
    /// 32: a log that was not synced when it was written counts as synced, since the table says so now.
    DurabilityOfNow,
    /// 33: of several keys that a backup reads only the first is waited for.
    OtherKeysNotAwaited,
    /// 34: a backup decides by its own clock that a key has expired.
    BackupExpires,
    /// 35: an in-sync member that becomes a learner is not fenced.
    DemotedUnfenced,
    /// 36: a partition that was lost goes on as if nothing had been there.
    LostUnnoticed,

    /// A backup votes for what its log does not have.
    VoteBeforeAppend,
    /// A backup votes for what its log has not synced, as if it had.
    VoteBeforeSync,
    /// The primary's own log need not be synced.
    OwnSyncNotAwaited,
    /// One vote is enough.
    CommitBeforeAllVotes,
    /// Clients are answered before anything has committed.
    AnsweredBeforeCommit,
    /// Reads are served without a lease.
    ReadsWithoutLease,
    /// A new primary forgets what was pending.
    PendingListForgotten,
    /// A follower goes on voting for what its own log refused.
    RefusedStaysVoted,
    /// A segment is removed before what was moved out of it is synced.
    CleanedBeforeSync,
    /// An older record takes a newer one's place in the table.
    OlderRecordWins,
    /// What peers do not read is kept without bound.
    QueueUnbounded,
    /// A sync that failed is taken for one that did not.
    FailedSyncIgnored,
    /// What a failed append has written stays in the log.
    FailedAppendStays,
    /// A torn tail is cut and the cut is not synced.
    TornTailCutUnsynced,
    /// A new segment's name is not synced.
    DirectoryUnsynced,
    /// A leader that no majority answers grants leases.
    LeasesWithoutQuorum,
    /// The cleaner takes what tables have in the log alone for dead.
    OfflineCleaned,
    /// At a restart records of a table that is offline count as those of partitions that moved away.
    OfflinePassedOver,
    /// 9: what was found in a log when a table came back counts when it comes back again.
    FormerReturnCounts,
    /// A vote for a leader, or what a follower took, is told before it is stored.
    RaftToldUnstored,
    /// A leader is confirmed by nobody.
    RaftRoundUnasked,
}

/// Whether deliberate bugs can be turned on at all.
pub const IS_BUILT_IN: bool = cfg!(feature = "sabotage");

/// Whether this bug is on in this thread.
#[cfg(not(feature = "sabotage"))]
#[inline]
#[must_use]
pub const fn is(_: Bug) -> bool {
    false
}

#[cfg(feature = "sabotage")]
pub use hunts::Judges;
#[cfg(feature = "sabotage")]
pub use switch::{Hunt, hunt, is, with};

#[cfg(feature = "sabotage")]
#[path = "sabotage/testing/hunts.rs"]
mod hunts;
#[cfg(feature = "sabotage")]
mod switch;

#[cfg(test)]
#[path = "sabotage_test.rs"]
mod sabotage_test;
