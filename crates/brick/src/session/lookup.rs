//! Tables by their names, and what new ones take from the table `default`.

use crate::core::Core;
use crate::tables::TableState;
use brickyard_command::ErrorReply;
use brickyard_types::{Eviction, TableAttributes};

/// The table of that name.
pub(super) fn table_named<'a>(core: &'a Core, name: &str) -> Result<&'a TableState, ErrorReply> {
    core.tables.named(name).ok_or_else(|| {
        ErrorReply::new(format!(
            "ERR there is no table '{name}'; TABLE LIST shows those there are"
        ))
    })
}

/// The attributes of the table `default`.
pub(super) fn default_table(core: &Core) -> TableAttributes {
    let state = table_named(core, "default").ok();
    state
        .map(|state| state.attributes.clone())
        .unwrap_or_default()
}

/// The attributes of a table that is made without being asked for any: the default table's, but no bound, and no history.
pub(super) fn inherited_attributes(core: &Core) -> TableAttributes {
    TableAttributes {
        maxmemory: None,
        evict: Eviction::None,
        history: 0,
        ..default_table(core)
    }
}

/// Up to how many copies a table gets that is made without being asked for a number: as many as this node is set to, unless
/// another number was chosen for the table `default`.
pub(super) fn inherited_copies_max(core: &Core) -> Option<u8> {
    let state = table_named(core, "default").ok()?;
    let is_chosen = state.layout.copies_max.is_none();
    (!is_chosen).then_some(core.shared.limits.default_replicas)
}
