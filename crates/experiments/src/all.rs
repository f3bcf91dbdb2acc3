//! The experiments, one file each, and their list; `media` and `overload` are what some of them share.

mod e01_linear_scaling;
mod e02_read_overload;
mod e03_write_overload;
mod e04_value_size;
mod e05_larger_than_memory;
mod e06_failure_timeline;
mod e07_async_or_threads;
mod e08_keys_per_node;
mod e09_worth_of_balance;
mod e10_unequal_nodes;
mod e11_grid;
mod e12_lookups;
mod e13_colocated;
mod e14_media;
mod e15_databases;
mod e16_peer_to_peer;
mod e17_operation_mix;
mod e18_provisioned;
mod e19_costs;
mod e20_memory;
mod e21_append;
mod e22_storage_ranking;
mod media;
mod overload;

use crate::experiment::Experiment;
use anyhow::bail;

/// All of them, by number.
static ALL: &[&Experiment] = &[
    &e01_linear_scaling::EXPERIMENT,
    &e02_read_overload::EXPERIMENT,
    &e03_write_overload::EXPERIMENT,
    &e04_value_size::EXPERIMENT,
    &e05_larger_than_memory::EXPERIMENT,
    &e06_failure_timeline::EXPERIMENT,
    &e07_async_or_threads::EXPERIMENT,
    &e08_keys_per_node::EXPERIMENT,
    &e09_worth_of_balance::EXPERIMENT,
    &e10_unequal_nodes::EXPERIMENT,
    &e11_grid::EXPERIMENT,
    &e12_lookups::EXPERIMENT,
    &e13_colocated::EXPERIMENT,
    &e14_media::EXPERIMENT,
    &e15_databases::EXPERIMENT,
    &e16_peer_to_peer::EXPERIMENT,
    &e17_operation_mix::EXPERIMENT,
    &e18_provisioned::EXPERIMENT,
    &e19_costs::EXPERIMENT,
    &e20_memory::EXPERIMENT,
    &e21_append::EXPERIMENT,
    &e22_storage_ranking::EXPERIMENT,
];

/// All of them, by number.
#[must_use]
pub fn list() -> &'static [&'static Experiment] {
    ALL
}

/// Those that are named, as `E6` or `6`; all, if none is.
///
/// # Errors
/// If there is none of such a name.
pub fn by_words(words: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let mut found = Vec::new();
    for word in words {
        let number = word.trim_start_matches(['E', 'e']).parse::<u8>();
        let it = list()
            .iter()
            .find(|it| number.as_ref().is_ok_and(|number| it.number == *number));
        match it {
            Some(it) => found.push(*it),
            None => {
                bail!("there is no experiment '{word}'; `brickyard experiments list` names them")
            }
        }
    }
    if words.is_empty() {
        found.extend(list());
    }
    found.sort_by_key(|it| it.number);
    found.dedup_by_key(|it| it.number);
    Ok(found)
}

#[cfg(test)]
#[path = "all_test.rs"]
mod all_test;
