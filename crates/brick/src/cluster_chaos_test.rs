//! Everything that can go wrong, at random, and whether anybody could tell.
//!
//! `CHAOS_SEED=17` runs one seed and tells its story; `CHAOS_SEEDS=5000` runs many. A seed is one schedule for
//! ever: what else can happen comes in another edition, and `CHAOS_EDITION=1` goes back to an earlier one.
//! Scenarios make some of it likely: `CHAOS_SCENARIO=reads`.

mod asks;
mod clients;
mod control;
mod disk;
mod halves;
mod history;
mod judges;
mod merges;
mod mood;
mod requests;
mod reuse;
mod sabotage_test;
mod scenario;
mod strikes;
mod world;

use crate::Inspection;
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};
use clients::Clients;
use control::Control;
use disk::Mood;
use scenario::Scenario;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use strikes::strike;
use world::World;

const STEPS: usize = 260;

/// What may happen in a schedule.
#[derive(Clone, Copy)]
enum Kind {
    /// Everything that one knew when it was of that edition.
    Edition(u64),
    /// A situation is made likely.
    Scenario(&'static Scenario),
}

impl Kind {
    fn scenario(self) -> Option<&'static Scenario> {
        match self {
            Self::Edition(_) => None,
            Self::Scenario(scenario) => Some(scenario),
        }
    }

    /// Scenarios are newer than all editions.
    fn edition(self) -> u64 {
        match self {
            Self::Edition(edition) => edition,
            Self::Scenario(_) => EDITION + 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edition(edition) => write!(f, "edition {edition}"),
            Self::Scenario(scenario) => write!(f, "scenario {}", scenario.name),
        }
    }
}

/// The edition that new seeds are of.
const EDITION: u64 = 4;

/// The edition in which partitions are merged again.
const MERGES: u64 = 5;

/// Edition and seed of schedules that went wrong once.
const REGRESSIONS: &[(u64, u64)] = &[
    (1, 54),
    (1, 445),
    (1, 1740),
    (2, 148),
    (2, 168),
    (2, 212),
    (2, 220),
    (2, 244),
    (3, 1065),
    (3, 644),
    (3, 1179),
    (4, 142),
    (5, 429),
    (5, 1000),
    (5, 1162),
    (5, 1241),
];

fn attributes(random: &mut Random) -> TableAttributes {
    let pick = |random: &mut Random, n: u64| random.next() % n;
    let durability = match pick(random, 5) {
        0 => Durability::Memory,
        1 | 2 => Durability::Fsync,
        _ => Durability::Log,
    };
    let is_disk = durability != Durability::Memory && pick(random, 3) == 0;
    TableAttributes {
        medium: if is_disk { Medium::Disk } else { Medium::Ram },
        maxmemory: is_disk.then_some(64),
        durability,
        replicas: 2 + pick(random, 2) as u8,
        ..TableAttributes::default()
    }
}

fn step(world: &mut World, clients: &mut Clients) {
    let passed = 5 + world.below(25) as u64;
    world.pass(passed);
    world.rule();
    let settled = std::mem::take(&mut world.control.settled);
    judges::check_effective(world, &settled);
    for partition in std::mem::take(&mut world.control.emptied) {
        clients.lose(world, partition, true);
    }
    for partition in std::mem::take(&mut world.control.voided) {
        clients.lose(world, partition, false);
    }
    world.turn();
    judges::check(world);
    clients.hear(world);
}

fn calm_down(world: &mut World) {
    world.tell("all is well again".to_owned());
    world.is_calm = true;
    world.cut.clear();
    world.mute.clear();
    world.control.hold_wishes(0);
    for at in 0..world.nodes.len() {
        world.control.set_cut(at, false);
        world.nodes[at].disk.hurry();
        world.nodes[at].disk.mood = Mood::Well;
        world.nodes[at].pause = 0;
        world.nodes[at].maps_late = 0;
        world.nodes[at].grants_late = 0;
        if !world.is_up(at) {
            world.restart(at);
        }
    }
    world.spread();
}

/// What each replica of each partition holds.
fn compare(world: &World) {
    for (table, partition, group) in world.control.groups() {
        let mut contents = group.in_sync().map(|seat| {
            let node = &world.nodes[seat.member.node.0 as usize];
            let brick = node.brick.as_ref().unwrap();
            Inspection::of(brick).contents(table, partition).unwrap()
        });
        let first = contents.next().unwrap();
        for other in contents {
            assert_eq!(first, other, "partition {partition}: {group:?}");
        }
    }
}

fn run(world: &mut World, clients: &mut Clients) {
    for _ in 0..STEPS {
        world.feel();
        if world.one_in(world.mood.strikes) {
            strike(world);
        }
        if world.mood.rolls < usize::MAX && world.one_in(world.mood.rolls) {
            let at = world.below(world.nodes.len());
            world.roll(at);
        }
        let splits = world.scenario.map_or(40, |it| it.splits);
        let count_max = world.scenario.map_or(usize::MAX, |it| it.partitions_max);
        let may_split = world.edition >= 4 && world.control.groups().len() < count_max;
        if may_split && world.one_in(splits) {
            let dice = world.below(1 << 20);
            if let Some(note) = world.control.begin_split(dice) {
                world.tell(note);
                world.spread();
            }
        }
        let merges = match world.scenario {
            Some(scenario) => scenario.merges,
            None => (world.edition >= MERGES).then_some(20),
        };
        if merges.is_some_and(|it| world.one_in(it)) {
            let dice = world.below(1 << 20);
            if let Some(note) = world.control.begin_merge(dice) {
                world.tell(note);
                world.spread();
            }
        }
        clients.ask(world);
        step(world, clients);
    }
    calm_down(world);
    let nodes = world.nodes.len();
    // With many requests left open it takes longer to come to each of them.
    let rounds_max = if world.scenario.is_some() { 3_000 } else { 900 };
    let mut rounds = 0;
    while !(world.control.is_whole(nodes) && clients.are_done()) {
        rounds += 1;
        assert!(rounds < rounds_max, "not whole again:\n{}", story(world));
        clients.ask_again(world);
        step(world, clients);
    }
    clients.ask_all(world);
    for _ in 0..60 {
        step(world, clients);
    }
    assert!(
        clients.are_done(),
        "not all was answered:\n{}",
        story(world)
    );
    compare(world);
    for node in &world.nodes {
        let left = Inspection::of(node.brick.as_ref().unwrap()).leftovers();
        assert_eq!(left, "", "something is left behind");
    }
    for (object, history) in &clients.histories {
        if history.is_void {
            continue;
        }
        if let Some(Err(story)) = history.judge() {
            panic!("{object}: no order explains the last reply of\n{story}");
        }
    }
}

fn story(world: &World) -> String {
    let mut out = String::new();
    for (_, partition, group) in world.control.groups() {
        out += &format!("partition {partition}: {group:?}\n");
    }
    for (at, node) in world.nodes.iter().enumerate() {
        if let Some(brick) = &node.brick {
            out += &format!("node {at}: {}", Inspection::of(brick).describe_replicas());
        }
    }
    out
}

/// Runs a seed of what may happen; how many requests were served.
fn chaos(kind: Kind, seed: u64, is_told: bool) -> Result<usize, String> {
    let mut random = Random::new(seed);
    let any = random.next() as usize;
    let nodes = match kind {
        Kind::Edition(_) => 3 + any % 2,
        Kind::Scenario(scenario) => scenario.nodes[any % scenario.nodes.len()],
    };
    let mut draw = || match kind {
        Kind::Edition(_) => attributes(&mut random),
        Kind::Scenario(scenario) => scenario.attributes(&mut random),
    };
    let tables = ["a", "b"].map(|name| (name, draw()));
    let partitions = 4;
    let control = Control::new(nodes, &tables, partitions);
    let mut world = World::new(nodes, control, random, kind);
    for (name, attributes) in &tables {
        world.tell(format!("table {name}: {attributes:?}"));
    }
    let names = ["a".to_owned(), "b".to_owned()];
    let mut clients = Clients::new(6, &names, &mut world);
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut world, &mut clients)));
    outcome.map(|()| clients.answered).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let story = if is_told {
            world.story.join("\n")
        } else {
            String::new()
        };
        format!("{kind}, seed {seed}: {story}\n{}", text.unwrap_or_default())
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs seeds on all processors: how many requests were served, and what failed.
fn chaos_of(kind: Kind, seeds: Range<u64>) -> (usize, Vec<String>) {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let (mut served, mut failed) = (0, Vec::new());
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= seeds.end {
                return (served, failed);
            }
            match chaos(kind, seed, false) {
                Ok(answered) => served += answered,
                Err(text) => {
                    println!("seed {seed} failed");
                    failed.push(text);
                }
            }
        }
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let mut all = (0, Vec::new());
        for worker in workers {
            let (served, mut failed) = worker.join().unwrap();
            all.0 += served;
            all.1.append(&mut failed);
        }
        all
    })
}

/// Runs what the environment names, or so many seeds of a kind.
fn survive(kind: Kind, count: u64) {
    if let Some(seed) = number("CHAOS_SEED") {
        let outcome = chaos(kind, seed, true);
        assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
        return;
    }
    let first = number("CHAOS_FIRST").unwrap_or(1);
    let seeds = first..first + number("CHAOS_SEEDS").unwrap_or(count);
    let (served, failed) = chaos_of(kind, seeds.clone());
    println!(
        "{served} requests served, {} of {seeds:?} of {kind} failed",
        failed.len()
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(
        served > 20 * (seeds.end - seeds.start) as usize,
        "{served} served"
    );
}

#[test]
fn whatever_happens_nobody_can_tell_it_from_one_copy_that_never_fails() {
    let edition = number("CHAOS_EDITION").unwrap_or(EDITION);
    survive(Kind::Edition(edition), 50);
}

#[test]
fn nor_where_partitions_are_merged_as_well() {
    survive(Kind::Edition(MERGES), 30);
    let merged = merges::MERGED.load(Relaxed);
    assert!(
        number("CHAOS_SEED").is_some() || merged > 10,
        "{merged} merges"
    );
}

#[test]
fn nor_in_rare_situations() {
    let wanted = std::env::var("CHAOS_SCENARIO").ok();
    let is_wanted = |it: &&&Scenario| wanted.as_deref().is_none_or(|name| name == it.name);
    for scenario in scenario::ALL.iter().filter(is_wanted) {
        survive(Kind::Scenario(scenario), 10);
    }
}

#[test]
fn nor_where_halves_are_put_together_one_thing_after_the_other() {
    (1..=20).for_each(halves::schedule);
}

#[test]
fn nor_where_numbers_are_used_again() {
    (1..=20).for_each(reuse::schedule);
}

#[test]
fn what_went_wrong_once_does_not_again() {
    let outcomes = REGRESSIONS
        .iter()
        .map(|(edition, seed)| chaos(Kind::Edition(*edition), *seed, false));
    let failed: Vec<String> = outcomes.filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
