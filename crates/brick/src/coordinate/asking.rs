//! Parts as they are asked for, and the keys that they are about.

use crate::core::Core;
use crate::distributed::part::{Ask, Bytes, Part};
use crate::distributed::{Action, Portion};
use crate::output::PlaceholderId;
use crate::request::{PARTS, Request, Token, Work};
use brickyard_types::{Instant, TableId};
use brickyard_wire::Protocol;
use std::collections::BTreeMap;

/// A part as it is asked for: for whom, and as which of its parts.
pub(super) struct Asker {
    pub(super) number: u64,
    pub(super) round: u64,
    pub(super) deadline: Instant,
}

/// The token under which the answer to a part comes.
pub(super) fn token_of(number: u64, round: u64, part: u32) -> Token {
    Token {
        connection: PARTS,
        client: NUMBER | number,
        placeholder: PlaceholderId(round),
        part,
    }
}

/// Whose answer it is: its number, its round, and which part.
pub(super) fn whose(token: Token) -> (u64, u64, u32) {
    (token.client & !NUMBER, token.placeholder.0, token.part)
}

/// Marks the numbers of transactions and recoveries among clients'.
const NUMBER: u64 = 1 << 63;

/// Asks for parts, each of keys of one table.
pub(super) fn ask_all(core: &mut Core, asker: &Asker, parts: Vec<(TableId, Part)>) {
    for (at, (table, part)) in parts.into_iter().enumerate() {
        assert!(
            part.is_sound(),
            "a part that nobody can carry out: {part:?}"
        );
        assert_ne!(
            part.anchor_table,
            Some(table),
            "a part of two tables is of one"
        );
        let origin = core.own(token_of(asker.number, asker.round, at as u32));
        let work = Work::Part(Box::new(part));
        let request = Request::new(origin, table, Protocol::Resp3, work, asker.deadline);
        let begin = Action::Begin(Box::new(request));
        core.requests.distributed.act(begin);
    }
}

/// Intents of these keys go.
pub(super) fn resolve(keys: &[Vec<u8>], is_committed: bool) -> Ask {
    Ask::Resolve {
        keys: keys.iter().cloned().map(Bytes).collect(),
        is_committed,
    }
}

/// Keys by the partition that they are of, each in order.
pub(super) fn by_partition(
    core: &Core,
    keys: impl IntoIterator<Item = (TableId, Vec<u8>)>,
) -> Vec<Portion> {
    let mut groups: BTreeMap<(TableId, u32), Vec<Vec<u8>>> = BTreeMap::new();
    for (table, key) in keys {
        let index = core.tables.index_of(table);
        let location = index.and_then(|index| core.locate(index, &key));
        let leaf = location.map_or(0, |it| it.leaf);
        groups.entry((table, leaf)).or_default().push(key);
    }
    let portions = groups.into_iter();
    let portions = portions.map(|((table, _), keys)| Portion { table, keys });
    portions.collect()
}

/// The keys of portions, each with its table.
pub(super) fn names_of(portions: &[Portion]) -> Vec<(TableId, Vec<u8>)> {
    let names = portions.iter().flat_map(|portion| {
        let keys = portion.keys.iter().cloned();
        keys.map(move |key| (portion.table, key))
    });
    names.collect()
}

/// The table that a part for another one has to name as its anchor's.
pub(super) fn named_table(anchor: TableId, part: TableId) -> Option<TableId> {
    (anchor != part).then_some(anchor)
}
