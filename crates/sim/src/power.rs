//! Processes that start and die, and machines that lose their power.

use crate::clock::{Clocks, MILLISECOND, Nanos};
use crate::cluster::Cluster;
use crate::host::{SimHost, genesis};
use crate::log_work::LogWork;
use crate::loop_io::Outside;
use crate::network::{End, Place};
use crate::process::{BrickSide, Ending, Process};
use crate::random::Random;
use crate::shape::Harm;
use crate::what::What;
use brickyard_brick::acl_log::NodeAclLog;
use brickyard_brick::channels::NodeChannels;
use brickyard_brick::directory::NodeClients;
use brickyard_brick::quota::Quotas;
use brickyard_brick::scripts::NodeScripts;
use brickyard_brick::settings::Settings;
use brickyard_brick::shared::{
    BrickAddress, NodeAddress, NodeCounters, NodeIdentity, NodeLimits, Oversight, ProcessStats,
    Shared,
};
use brickyard_brick::stats::Stats;
use brickyard_brick::users::Users;
use brickyard_control::LoopState;
use brickyard_metadata::{
    Addresses, Catalog, Machine as MachineId, Registration, Roles, brick_name,
};
use brickyard_node::discovery::kept;
use brickyard_node::io::ToLoop;
use brickyard_node::storage::{self, Stored};
use brickyard_node::{
    BrickLoop, ClusterMember, Common, ControlLoop, ControlStart, HostPort, recovery,
};
use brickyard_routing::Replica;
use brickyard_store::{self as store, BootNote, MemDisk};
use brickyard_types::{BrickId, UnixMillis};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Longest request of a client.
const REQUEST_BYTES_MAX: usize = 64 << 20;

impl Cluster {
    /// A node's process is started, if the machine is on.
    pub(crate) fn start(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if machine.is_up() || machine.is_off || machine.is_retired {
            return;
        }
        machine.life += 1;
        machine.paused_until = 0;
        machine.dies_after = None;
        machine.disks.begin(&mut self.ground.chance);
        let life = machine.life;
        let is_new = life == 1;
        let boot = BootNote::load(
            machine.disks.own(),
            is_new,
            Some(format!("boot-{}", machine.boot)),
        );
        let Ok(mut boot) = boot else {
            return self.object(format!("node {node} cannot read its boot note"));
        };
        if boot
            .note_failed_syncs(machine.disks.own(), machine.disks.bricks())
            .is_err()
        {
            self.tell(|| format!("node {node} cannot start: its boot note cannot be written"));
            return self.after(500 * MILLISECOND, What::Start(node));
        }
        let Ok(kept) = kept::load(machine.disks.own()) else {
            return self.object(format!("node {node} cannot read what it has promised"));
        };
        let run = self.ground.chance.next();
        let seed = self.ground.chance.next();
        let registration = self.registration(node, run);
        let stored = match self.open(node, &boot, &registration, seed) {
            Ok(stored) => stored,
            Err(reason) => {
                self.tell(|| format!("node {node} cannot start: {reason}"));
                // A full or failing disk is somebody's to mend; it is tried again.
                if self.ground.stage.is_calm {
                    self.object(format!("node {node} cannot start: {reason}"));
                }
                return self.after(500 * MILLISECOND, What::Start(node));
            }
        };
        let (now, unix) = self.shown(node);
        let machine = &self.machines[node];
        let others = (0..self.machines.len()).filter(|other| *other != node);
        let start = ControlStart {
            stored,
            kept,
            address: address(node),
            seeds: others.map(address).collect(),
            expect: self.ground.shape.expect,
        };
        let introduction = start.introduction(registration.key);
        let host = SimHost::new(now, unix, introduction, machine.directory.clone(), seed);
        let common = Common {
            host,
            registration,
            control: self.ground.shape.control.clone(),
            consensus_seed: seed,
            is_tail_sure: !boot.is_tail_unsure(),
            is_end_cut: boot.is_end_cut(),
            taken_in: None,
            drained: None,
        };
        self.machines[node].process = Some(Process {
            life,
            control: ControlLoop::new(common, start),
            boot,
            bricks: Vec::new(),
            catalog: None,
            seed,
        });
        self.count("starts");
        self.tell(|| format!("node {node} starts"));
        self.after(MILLISECOND, What::Tick(node, life));
        self.control(node, |_| {});
        self.machines.connect(&mut self.ground, node);
    }

    fn open(
        &mut self,
        node: usize,
        boot: &BootNote,
        registration: &Registration,
        seed: u64,
    ) -> Result<Option<Stored<MemDisk>>, String> {
        let machine = &self.machines[node];
        let stored = storage::open(&machine.directory, boot.page_cache());
        let stored = stored.map_err(|error| error.to_string())?;
        let founds_alone = node == 0 && machine.life == 1 && self.ground.shape.expect == 0;
        if stored.is_some() || !founds_alone {
            return Ok(stored);
        }
        let found = storage::found(&machine.directory, &genesis(registration, seed)?);
        found.map(Some).map_err(|error| error.to_string())
    }

    fn registration(&self, node: usize, run: u64) -> Registration {
        let machine = &self.machines[node];
        Registration {
            key: machine.key,
            run,
            addresses: Addresses {
                host: format!("node{node}"),
                port: 6379,
                bricks: (0..self.ground.shape.bricks as u16)
                    .map(|it| 7000 + it)
                    .collect(),
                peer_port: 16379,
                http_port: None,
            },
            bricks: self.ground.shape.bricks,
            weight: self.ground.shape.weight(node),
            zone: None,
            roles: Roles::default(),
            machine: MachineId {
                machine: format!("machine-{node}"),
                boot: format!("boot-{}", machine.boot),
                directory: (1, node as u64),
            },
        }
    }

    /// The bricks read their logs.
    pub(crate) fn recover(&mut self, node: usize) {
        let (now, unix) = self.shown(node);
        let machine = &mut self.machines[node];
        let Some(process) = &mut machine.process else {
            return;
        };
        let Some(first) = process.member().and_then(ClusterMember::first) else {
            return;
        };
        let shared = Arc::new(shared(
            node,
            &first.catalog,
            first.node,
            &process.control.common.registration,
            &self.ground.shape,
        ));
        let mut failed = None;
        let mut cuts = Vec::new();
        for (at, disk) in machine.disks.bricks().iter().enumerate() {
            let id = BrickId(at as u32);
            let mut config = store::LogConfig::new(id, machine.directory.id);
            config.segment_bytes = self.ground.shape.segment_bytes;
            config.reserve_bytes = 2 * u64::from(self.ground.shape.segment_bytes);
            config.runway_bytes = self.ground.shape.segment_bytes / 8;
            config.runway_syncs_min = 2;
            config.page_cache = process.boot.page_cache();
            let mut random = Random::of(process.seed, at as u64);
            let seed = random.next();
            let make = || brickyard_brick::BrickConfig {
                id,
                incarnation: first.incarnation,
                bricks: self.ground.shape.bricks,
                shared: Arc::clone(&shared),
                catalog: Arc::clone(&first.catalog),
                seed,
            };
            let recovered = recovery::recover(disk, &config, &first.catalog, || (now, unix), make);
            match recovered {
                Ok(recovered) => {
                    let report = &recovered.opened.report;
                    cuts.extend(report.torn.iter().map(ToString::to_string));
                    cuts.extend(report.damages.iter().map(ToString::to_string));
                    if let Some(coverage) = self.ground.notes.coverage() {
                        coverage.look_at_log(report, process.control.common.is_tail_sure);
                    }
                    let mut outside = Outside::default();
                    outside.messages.push_back(ToLoop::Open);
                    process.bricks.push(BrickSide {
                        brick_loop: BrickLoop::new(recovered.brick, REQUEST_BYTES_MAX),
                        log: LogWork::new(
                            recovered.opened,
                            self.ground.shape.inline_one_in,
                            random,
                        ),
                        outside,
                        turn_at: None,
                        turns_noted: Vec::new(),
                        turned_at: now,
                        began: None,
                        taken: Duration::ZERO,
                        sync_at: None,
                        seen: Vec::new(),
                    });
                }
                Err(error) => {
                    failed = Some(error.to_string());
                    break;
                }
            }
        }
        if failed.is_none() {
            let confirmed = process
                .boot
                .confirm_boot(machine.disks.own(), machine.disks.bricks());
            failed = confirmed.err().map(|error| error.to_string());
        }
        for cut in cuts {
            self.tell(|| format!("node {node}: {cut}"));
        }
        if let Some(reason) = failed {
            self.tell(|| format!("node {node} cannot read its logs: {reason}"));
            if self.ground.stage.is_calm {
                self.object(format!("node {node} cannot read its logs: {reason}"));
            }
            self.kill(node, false);
            return self.after(500 * MILLISECOND, What::Start(node));
        }
        let Some(process) = &mut self.machines[node].process else {
            return;
        };
        let count = process.bricks.len();
        let is_end_cut = process.boot.is_end_cut();
        process.control.common.host.states = vec![LoopState::default(); count];
        process.control.common.host.adopted = vec![0; count];
        self.tell(|| format!("node {node} has read its logs"));
        for brick in 0..count {
            self.machines.wake(&mut self.ground, node, brick);
        }
        self.control(node, |control| control.on_loops(is_end_cut));
    }

    /// The process dies, and in a power cut with it what was not synced.
    pub(crate) fn kill(&mut self, node: usize, is_power_cut: bool) {
        let how = if is_power_cut {
            Ending::Power
        } else {
            Ending::Kill
        };
        self.end(node, how);
    }

    /// The process ends.
    pub(crate) fn end(&mut self, node: usize, how: Ending) {
        let now = self.now();
        let Some(mut process) = self.machines[node].process.take() else {
            if how == Ending::Power {
                self.tell(|| format!("node {node}, which is down, loses its power"));
                self.cut_power(node);
            }
            return;
        };
        let (counted, told) = match how {
            Ending::Kill => ("kills", "is killed"),
            Ending::Power => ("power cuts", "loses its power"),
            Ending::Stop => ("stops", "stops"),
        };
        self.count(counted);
        self.tell(|| format!("node {node} {told}"));
        if let Some(coverage) = self.ground.notes.coverage() {
            coverage.look_at_end(&process, how);
        }
        let machine = &self.machines[node];
        for (brick, side) in process.bricks.iter_mut().enumerate() {
            if how == Ending::Stop {
                side.log.finish_all(now);
            } else if self.ground.chance.one_in(2) {
                // In the middle of a write, or just before it.
                machine.disks.die(brick, &mut self.ground.chance);
                side.log.die(now);
            }
        }
        let life = process.life;
        drop(process);
        machine.disks.end();
        if how == Ending::Power {
            self.cut_power(node);
        }
        let here = Place::Node(node);
        for id in self.network.at(here) {
            self.network.lose_end(
                &mut self.ground,
                id,
                End { place: here, life },
                how == Ending::Power,
            );
        }
    }

    fn cut_power(&mut self, node: usize) {
        let now = self.now();
        let machine = &mut self.machines[node];
        machine.disks.cut_power();
        machine.boot += 1;
        machine.clocks = Clocks::draw(now, &mut self.ground.chance);
    }

    /// Whether a node may come to harm without a promise being broken: whatever it loses, another replica has.
    pub(crate) fn may_come_to(&self, harm: Harm, node: usize) -> bool {
        // What rot has damaged shows at the next start.
        let is_rotten = self.risks.rotten.contains(&node);
        let harm = if is_rotten { Harm::Synced } else { harm };
        if !self.ground.shape.loses(harm) {
            return true;
        }
        let Some(catalog) = &self.checkers.latest else {
            return false;
        };
        let tables = catalog
            .tables()
            .filter(|table| harm.loses(table.attributes.durability));
        let mut groups = tables.flat_map(|table| table.map.groups());
        groups.all(|group| {
            let is_member = group.in_sync().any(|replica| self.is_of(replica, node));
            let change = group.change.as_deref();
            let has_left = |replica: &Replica| {
                let stays = change.is_none_or(|it| it.in_sync().any(|other| other == *replica));
                stays && !self.is_of(*replica, node) && self.is_safe_at(*replica)
            };
            !is_member || group.in_sync().any(|replica| has_left(&replica))
        })
    }

    fn is_of(&self, replica: Replica, node: usize) -> bool {
        let key = self.machines[node].key;
        let catalog = self.checkers.latest.as_ref();
        let found = catalog.and_then(|it| it.node(replica.member.node));
        found.is_some_and(|it| it.registration.key == key)
    }

    /// Whether what a member of a view holds will be there.
    fn is_safe_at(&self, replica: Replica) -> bool {
        let found = self.machines.replica_of(replica);
        found.is_some_and(|(node, _)| !self.risks.at_risk.contains_key(&node))
    }

    pub(crate) fn restart_soon(&mut self, node: usize, longest: Nanos) {
        let delay = 10 * MILLISECOND + self.ground.chance.below(longest);
        self.after(delay, What::Start(node));
    }
}

/// Where other nodes reach a node.
pub(crate) fn address(node: usize) -> HostPort {
    HostPort {
        host: format!("node{node}"),
        port: 16379,
    }
}

/// Which node answers at an address.
pub(crate) fn node_at(address: &HostPort) -> Option<usize> {
    address.host.strip_prefix("node")?.parse().ok()
}

fn shared(
    node: usize,
    catalog: &Catalog,
    id: brickyard_routing::NodeId,
    registration: &Registration,
    shape: &crate::shape::Shape,
) -> Shared {
    let bricks = catalog.node(id).into_iter();
    let bricks = bricks.flat_map(brickyard_metadata::Node::bricks);
    let bricks = bricks.zip(&registration.addresses.bricks);
    Shared {
        identity: NodeIdentity {
            run_id: format!("{:040x}", registration.run),
            node: id,
            node_id: format!("{node:040x}"),
            redis_version: "7.4.2",
            version: env!("CARGO_PKG_VERSION"),
            started: UnixMillis(1_700_000_000_000),
            process_id: 1,
            directory: format!("node{node}"),
            config_file: String::new(),
            os: "virtual".to_owned(),
            memory_total: 1 << 30,
            io_uring: Err("off".to_owned()),
        },
        address: NodeAddress {
            host: registration.addresses.host.clone(),
            port: registration.addresses.port,
            has_tls: false,
            bricks: bricks
                .map(|(member, port)| BrickAddress {
                    id: brick_name(catalog.cluster(), member),
                    port: *port,
                })
                .collect(),
        },
        limits: NodeLimits {
            request_deadline: shape.request_deadline,
            eviction_timeout: shape.control.eviction_timeout,
            suspect_after: shape.control.eviction_timeout / 2,
            recovery_bandwidth: 0,
            segment_bytes: u64::from(shape.segment_bytes),
            partition_bytes: 0,
            default_replicas: 1,
            merge_after: shape.control.merge_after,
            value_bytes_max: 1 << 20,
            // So small that the hashes of its clients have parts now and again.
            hash_whole_bytes_max: 48,
        },
        settings: Settings {
            output_soft: AtomicU64::new(shape.output_soft),
            // Its clock stands still while a script runs.
            script_time_max: AtomicU64::new(0),
            ..Settings::default()
        },
        users: Users::new(Vec::new()),
        keeps_users: Ok(()),
        stats: (0..shape.bricks).map(|_| Stats::new()).collect(),
        process: ProcessStats::default(),
        counters: NodeCounters::new(UnixMillis(0)),
        quotas: Quotas::default(),
        scripts: NodeScripts::new(shape.bricks as usize),
        acl_log: NodeAclLog::default(),
        channels: NodeChannels::default(),
        directory: NodeClients::default(),
        oversight: Oversight::new(shape.bricks as usize),
        lowest_level: Arc::default(),
    }
}
