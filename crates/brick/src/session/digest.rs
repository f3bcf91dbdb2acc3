//! `TABLE DIGEST`: what this brick's replicas hold, to compare replicas.
//!
//! Invariant: a call looks at so many records, however many there are; the client goes on from the cursor that
//! it was given. Parts of one partition belong together if view and committed op are the same in all of them.

use super::lookup::table_named;
use crate::core::Core;
use crate::tables::Partition;
use brickyard_command::ErrorReply;
use brickyard_command::request::DigestCursor;
use brickyard_replication::Role;
use brickyard_table::{Digest, ScanPosition};
use brickyard_wire::Reply;

/// Records that a call looks at, about.
const RECORDS_MAX: usize = 4096;

/// A partition's part of a reply.
struct Part {
    partition: u32,
    role: Role,
    view: u64,
    committed: u64,
    digest: Digest,
}

/// `TABLE DIGEST`, from a cursor on.
pub(super) fn digest_table(
    core: &Core,
    name: &str,
    from: DigestCursor,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    let state = table_named(core, name)?;
    if let Some(error) = state.refusal() {
        return Err(error);
    }
    let mut parts = Vec::new();
    let mut left = RECORDS_MAX;
    let mut cursor = Some(from);
    while let Some(at) = cursor.filter(|_| left > 0) {
        let Some(place) = state.partitions.get(at.leaf) else {
            cursor = None;
            break;
        };
        // Empty ones cost something, too.
        left -= 1;
        let mut position = None;
        if let Some(partition) = place.as_ref().filter(|it| it.status.role != Role::None) {
            let from = ScanPosition(at.position);
            let (digest, next) = state.table.digest(partition.local, from, left.max(1));
            left = left.saturating_sub(digest.keys as usize);
            parts.push(part(partition, digest));
            position = next;
        }
        cursor = Some(match position {
            Some(position) => DigestCursor {
                position: position.0,
                ..at
            },
            None => DigestCursor {
                leaf: at.leaf + 1,
                position: 0,
            },
        });
    }
    let cursor = cursor.map_or_else(|| "0".to_owned(), |it| it.to_string());
    reply.array(2);
    reply.bulk(cursor.as_bytes());
    reply.array(parts.len());
    for part in &parts {
        part.render(reply);
    }
    Ok(())
}

fn part(partition: &Partition, digest: Digest) -> Part {
    Part {
        partition: partition.id.0,
        role: partition.status.role,
        view: partition.status.view.0.into(),
        committed: partition.committed.0,
        digest,
    }
}

impl Part {
    fn render(&self, reply: &mut Reply<'_>) {
        let role = match self.role {
            Role::Primary => "primary",
            Role::Backup => "backup",
            Role::Learner => "learner",
            Role::Stopped => "stopped",
            Role::None => "none",
        };
        reply.array(6);
        reply.integer(i64::from(self.partition));
        reply.bulk(role.as_bytes());
        reply.integer(self.view.cast_signed());
        reply.integer(self.committed.cast_signed());
        reply.integer(self.digest.keys.cast_signed());
        reply.bulk(format!("{:016x}", self.digest.sum).as_bytes());
    }
}

#[cfg(test)]
#[path = "digest_test.rs"]
mod digest_test;
