//! E20: memory for each member of the map, and for each key.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::{Judgement, top};
use crate::load::{Way, Work, fill};
use crate::nodes::{Nodes, Shape};
use crate::number::shown;
use crate::peers::{MEMCACHED, REDIS, VALKEY, present};
use crate::run::Run;
use crate::table::Table;
use brickyard_bench::Target;
use brickyard_bench::process::Process;
use brickyard_routing::{
    Group, Hasher, KeyHasher, Member, NodeId, PartitionMap, Replica, TableMap,
};
use brickyard_types::{BrickId, Incarnation, PartitionId, TableId};
use std::hint::black_box;
use std::mem::{size_of, size_of_val};
use std::time::Instant;

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 20,
    title: "A million members in the map",
    question: "How many bytes does a client keep for each member, and a server for each key?",
    original: Original {
        paper: Paper::Zht,
        place: "section 2",
        setup: "A table of members in every node's memory: the hash of a key is an index into it.",
        found: "32 bytes for each entry, so a million nodes need 32 MB; an instance among a thousand nodes takes 10 MB of 2 GB.",
    },
    scaled: "Nothing is: a map of up to a million members is built as the client library has it, and its bytes are counted, the heap's included; every member has one partition here. A node's memory is the resident size \
             that the operating system shows, before and after it is filled with keys of 16 and values of 150 bytes.",
    expected: Expected::Explained,
    shape: "bytes for each member do not grow with the members, and a lookup takes well under a microsecond among a million; an entry has more than ZHT's 32 bytes, since it names every copy of a \
            partition with the life of its node, which is what lets clients ask backups and notice that a member was replaced",
    minutes: 1.5,
    measure,
    judge,
};

const MEMBERS: [u32; 4] = [1 << 10, 1 << 14, 1 << 17, 1 << 20];
const QUICK_MEMBERS: u32 = 1 << 14;
const LOOKUPS: u32 = 20_000;
const KEYS: [u64; 2] = [100_000, 400_000];
const OURS: &str = "Brickyard";
/// Bytes of a key with its value.
const PAYLOAD: f64 = 166.0;

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    maps(run, &mut data)?;
    keys(run, &mut data)?;
    Ok(data)
}

fn maps(run: &Run<'_>, data: &mut Data) -> anyhow::Result<()> {
    let most = run.quick(QUICK_MEMBERS, u32::MAX);
    for copies in [1, 2] {
        for members in MEMBERS.into_iter().filter(|members| *members <= most) {
            run.say(&format!("a map of {members} members"))?;
            let map = map_of(members, copies)?;
            let name = format!("map, {copies} copies");
            let bytes = bytes_of(&map) as f64 / f64::from(members);
            data.add(&name, f64::from(members), 0, &[("bytes_a_member", bytes)]);
            for round in 0..3 {
                let measures = [("lookup_ns", lookup_ns(&map, round))];
                data.add(&name, f64::from(members), round, &measures);
            }
        }
    }
    Ok(())
}

/// A map in which every member leads one partition, and so many others have copies of it.
fn map_of(members: u32, copies: u32) -> anyhow::Result<TableMap> {
    let partitions = PartitionMap::even(members, PartitionId(0))?;
    let replica = |node: u32| Replica {
        member: Member {
            node: NodeId(node % members),
            brick: BrickId(0),
        },
        incarnation: Incarnation(1),
    };
    let group = |node: u32| {
        let backups = (1..copies).map(|next| replica(node + next));
        Group::first(replica(node), backups.collect())
    };
    let hasher = KeyHasher::new(Hasher::Slot, 1);
    let groups = (0..members).map(group).collect();
    Ok(TableMap::new(TableId(1), hasher, partitions, groups)?)
}

/// Bytes of what a map consists of.
fn bytes_of(map: &TableMap) -> usize {
    let members = map.groups().iter().map(|group| group.members().count());
    let backups: usize = members.map(|count| count.saturating_sub(1)).sum();
    size_of::<TableMap>()
        + size_of_val(map.partitions().leaves())
        + size_of_val(map.groups())
        + backups * size_of::<Replica>()
}

fn lookup_ns(map: &TableMap, round: u32) -> f64 {
    let names: Vec<String> = (0..LOOKUPS)
        .map(|key| format!("key{round}:{key}"))
        .collect();
    let begin = Instant::now();
    for name in &names {
        black_box(map.locate(name.as_bytes()));
    }
    begin.elapsed().as_nanos() as f64 / f64::from(LOOKUPS)
}

fn keys(run: &Run<'_>, data: &mut Data) -> anyhow::Result<()> {
    run.say("starts servers")?;
    let nodes = Nodes::start(run, "ours", 1, Shape::default())?;
    nodes.create("e20", 1, &["DURABILITY", "memory"])?;
    let mut servers: Vec<(&str, Process)> = Vec::new();
    for peer in present(run, &[&VALKEY, &REDIS, &MEMCACHED]) {
        servers.push((peer.name(), peer.start(run.dir)?));
    }
    let own = nodes.process(0).map(|process| (OURS, process));
    let all = own
        .into_iter()
        .chain(servers.iter().map(|(name, it)| (*name, it)));
    for (name, process) in all {
        let target = if name == OURS {
            nodes.target("e20")?
        } else {
            process.target.clone()
        };
        of_one(run, data, name, process, &target)?;
    }
    Ok(())
}

fn of_one(
    run: &Run<'_>,
    data: &mut Data,
    name: &str,
    process: &Process,
    target: &Target,
) -> anyhow::Result<()> {
    let idle = process.resident_bytes()? as f64;
    data.add(name, 0.0, 0, &[("resident_mb", idle / 1e6)]);
    for keys in KEYS.into_iter().take(run.quick(1, KEYS.len())) {
        run.say(&format!("{name}, {keys} keys"))?;
        let work = Work { keys, ..Work::DDS };
        fill(Way::Address, &work.closed(target, run.piece(1)))?;
        let resident = process.resident_bytes()? as f64;
        let each = (resident - idle) / keys as f64;
        let measures = [
            ("resident_mb", resident / 1e6),
            ("bytes_a_key", each),
            ("overhead_a_key", each - PAYLOAD),
        ];
        data.add(name, keys as f64, 0, &measures);
    }
    Ok(())
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut members = Figure::new(
        "Bytes of the map for each member",
        Axis::log("members"),
        Axis::linear("bytes"),
    );
    members.measured(data, "bytes_a_member");
    let zht = [1_024.0, 1_048_576.0].map(|members| (members, 32.0));
    members.published("ZHT", &zht);
    let mut overheads = Figure::new(
        "Bytes for each key beyond its own 16 and its value's 150",
        Axis::words("", &["most keys"]),
        Axis::linear("bytes"),
    );
    for series in data.series_with("overhead_a_key") {
        let last = data.line(series, "overhead_a_key").pop();
        let bar = last.map(|point| crate::data::Point { x: 0.0, ..point });
        overheads.curve(series, Look::Bar, bar.into_iter().collect());
    }
    it.figures = vec![members, overheads];
    let line = data.line("map, 1 copies", "bytes_a_member");
    let last = line.last().map_or(f64::NAN, |it| it.median);
    let first = line.first().map_or(f64::NAN, |it| it.median);
    it.within(
        "bytes a member at the most members beside those at the fewest",
        last / first,
        0.8..=1.1,
    );
    let most = line.last().map_or(f64::NAN, |it| it.x);
    it.at_most(
        &format!("MB of a map of {} members", shown(most)),
        last * most / 1e6,
        160.0,
    );
    it.at_most(
        "nanoseconds of a lookup, at worst",
        top(&data.line("map, 1 copies", "lookup_ns")),
        1_000.0,
    );
    it.at_most(
        "bytes a key beyond its own and its value's",
        {
            let line = data.line(OURS, "overhead_a_key");
            line.last().map_or(f64::NAN, |it| it.median)
        },
        120.0,
    );
    it.at_most(
        "MB of an empty node (ZHT: 10 among a thousand)",
        data.median(OURS, 0.0, "resident_mb"),
        100.0,
    );
    it.tables.push(Table::of(
        data,
        "",
        "members, or keys",
        &[
            ("bytes_a_member", "bytes a member"),
            ("lookup_ns", "lookup, ns"),
            ("resident_mb", "resident, MB"),
            ("bytes_a_key", "bytes a key"),
            ("overhead_a_key", "beyond key and value"),
        ],
    ));
    it.remark(
        "A table has 32,768 partitions at most, so its map is bounded however many nodes there are: a million members is what the routing could hold, not what a cluster is today. \
         Addresses of nodes are kept once a node, beside the maps of all tables.",
    );
    it
}

#[cfg(test)]
mod e20_memory_test {
    use super::{bytes_of, map_of, maps};
    use crate::data::Data;
    use crate::run::run_test::with_quick_run;

    #[test]
    fn copies_are_counted() {
        let (one, two) = (map_of(1_024, 1).unwrap(), map_of(1_024, 2).unwrap());
        let more = bytes_of(&two) - bytes_of(&one);
        assert_eq!(more, 1_024 * size_of::<brickyard_routing::Replica>());
    }

    #[test]
    fn every_map_of_a_quick_run_is_measured() {
        with_quick_run(|run| {
            let mut data = Data::default();
            maps(run, &mut data).unwrap();
            assert_eq!(data.line("map, 1 copies", "bytes_a_member").len(), 2);
            assert!(
                data.line("map, 2 copies", "lookup_ns")
                    .iter()
                    .all(|it| it.min > 0.0)
            );
        });
    }
}
