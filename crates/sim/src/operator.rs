//! An operator, who says what nodes are used for, how tables are laid out, and when partitions may move: over a connection to some node, until it is
//! done or refused.
//!
//! In:  orders of faults. Out: commands; which nodes are to be gone for ever.
//!
//! Invariant: an order whose outcome is not known is given again. Nothing is lost if it is carried out twice; but it may be
//! carried out after another one that came behind it, so when that cannot be any more the last words are said again.
//!
//! Not here: whether what was ordered comes about ([`check::wanted`](crate::check)).

pub(crate) mod orders;

use crate::clients::command;
use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::cluster::Cluster;
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
pub(crate) use crate::operator::orders::Operator;
use crate::operator::orders::{Order, Subject};
use crate::random::Random;
use crate::reply::{Reply, read_reply};
use crate::what::What;
use brickyard_brick::Port;
use brickyard_wire::{Fate, fate};
use std::collections::BTreeSet;
use std::fmt::Display;

/// An answer is awaited for so long; nodes give up before that.
const PATIENCE: Nanos = 12 * SECOND;

impl Operator {
    /// An operator wants something.
    pub(crate) fn order(&mut self, cluster: &mut Cluster, order: Order) {
        cluster.tell(|| format!("an operator wants: {order:?}"));
        if let Order::Confine(table, _) = order {
            self.confined.insert(table);
        }
        self.orders.push_back(order);
        self.operate_soon(cluster);
    }

    fn operate_soon(&mut self, cluster: &mut Cluster) {
        if !self.orders.is_empty() && !std::mem::replace(&mut self.is_due, true) {
            let delay = cluster.ground.chance.between(20, 200) * MILLISECOND;
            cluster.after(delay, What::Operate);
        }
    }

    /// The operator does the next thing.
    pub(crate) fn operate(&mut self, cluster: &mut Cluster, are_tables_made: bool) {
        self.is_due = false;
        let is_late = |at: Nanos| cluster.now() - at > PATIENCE;
        if self.asked_at.is_some_and(is_late) {
            self.leave(cluster);
        }
        // How many copies tables want counts for what may be done to nodes.
        if self.connection.is_none() && are_tables_made {
            self.connect(cluster);
        }
        if self.asked_at.is_none()
            && let Some(id) = self.connection
        {
            self.give_order(cluster, id);
        }
        self.operate_soon(cluster);
    }

    fn connect(&mut self, cluster: &mut Cluster) {
        let node = cluster.ground.chance.index(cluster.machines.len());
        let machine = &cluster.machines[node];
        let Some(process) = &machine.process else {
            return;
        };
        if process.bricks.is_empty() || machine.paused_until > cluster.now() {
            return;
        }
        let near = End {
            place: Place::Operator,
            life: 0,
        };
        let far = End {
            place: Place::Node(node),
            life: process.life,
        };
        let what = Use::Client { brick: 0 };
        let id = cluster.network.connect([near, far], what);
        self.connection = Some(id);
        let socket = Socket {
            connection: id,
            end: 1,
        };
        cluster.give(node, 0, |outside| {
            outside.accepted.push_back((Port::Node, socket));
        });
    }

    fn leave(&mut self, cluster: &mut Cluster) {
        if self.asked_at.take().is_some() {
            self.doubt(cluster);
        }
        self.received.clear();
        if let Some(id) = self.connection.take() {
            cluster.close_end(id, 0);
        }
    }

    /// Whether an order was carried out is not known, or whether it will be.
    fn doubt(&mut self, cluster: &mut Cluster) {
        self.affirms_at = cluster.now() + PATIENCE;
        cluster.at(self.affirms_at, What::Affirm);
    }

    /// The operator says again how everything is to be, but for what it is about to say anyway.
    pub(crate) fn affirm(&mut self, cluster: &mut Cluster) {
        let orders = &mut self.orders;
        let next: BTreeSet<Subject> = orders.iter().filter_map(|it| it.subject()).collect();
        let latest = self.latest.iter();
        let latest = latest.filter(|(subject, _)| !next.contains(subject));
        orders.extend(latest.map(|(_, order)| *order));
        self.operate_soon(cluster);
    }

    fn give_order(&mut self, cluster: &mut Cluster, id: ConnectionId) {
        let Some(order) = self.orders.front().copied() else {
            return;
        };
        let Some(words) = self.words(cluster, order) else {
            // Who is not there yet, or no more, needs no orders.
            self.orders.pop_front();
            return;
        };
        if let Order::Remove(node) = order {
            cluster.machines[node].is_unwanted = true;
        }
        self.asked_at = Some(cluster.now());
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        cluster.send_bytes(id, 0, command(&words));
    }

    /// How an order is given; `None`: a node is no member.
    fn words(&self, cluster: &Cluster, order: Order) -> Option<Vec<String>> {
        let number = |node: usize| Some(cluster.member_of(node)?.id.0);
        let line = match order {
            Order::Drain(node) => format!("NODE DRAIN {}", number(node)?),
            Order::Weigh(node, weight) => format!("NODE ALTER {} WEIGHT {weight}", number(node)?),
            Order::Demote(node) => format!("NODE ALTER {} CONTROL no", number(node)?),
            Order::Remove(node) => format!("NODE REMOVE {}", number(node)?),
            Order::Replace(old, new) => format!("NODE REPLACE {} {}", number(old)?, number(new)?),
            Order::Split(table, dice) => self.words_of_split(cluster, table, dice)?,
            Order::Merge(table, dice) => self.words_of_merge(cluster, table, dice)?,
            Order::Place(table, placement) => {
                self.alteration(cluster, table, "PLACEMENT", placement)
            }
            Order::Confine(table, nodes) => self.words_of_nodes(cluster, table, nodes)?,
            Order::Bound(table, Some(bytes)) => {
                self.alteration(cluster, table, "PARTITION_BYTES", bytes)
            }
            Order::Bound(table, None) => {
                self.alteration(cluster, table, "PARTITION_BYTES", "default")
            }
            Order::Employ(node, roles) => {
                // Who is to be gone stays without the roles that were taken from it for that.
                let is_leaving = cluster.machines[node].is_unwanted || self.is_to_remove(node);
                let number = number(node).filter(|_| !is_leaving)?;
                format!("NODE ALTER {number} ROLES {roles}")
            }
            Order::TakeOffline(table) => {
                format!("TABLE OFFLINE {}", cluster.ground.shape.tables[table].name)
            }
            Order::BringOnline(table) => {
                format!("TABLE ONLINE {}", cluster.ground.shape.tables[table].name)
            }
            Order::PauseMoves => "REBALANCE PAUSE".to_owned(),
            Order::ResumeMoves => "REBALANCE RESUME".to_owned(),
        };
        Some(line.split(' ').map(str::to_owned).collect())
    }

    fn alteration(
        &self,
        cluster: &Cluster,
        table: usize,
        name: &str,
        value: impl Display,
    ) -> String {
        let table = &cluster.ground.shape.tables[table].name;
        format!("TABLE ALTER {table} {name} {value}")
    }

    /// `None`: one of the nodes is no member.
    fn words_of_nodes(&self, cluster: &Cluster, table: usize, nodes: u8) -> Option<String> {
        let named = (0..cluster.machines.len()).filter(|node| nodes & (1 << node) != 0);
        let numbers = named.map(|node| Some(cluster.member_of(node)?.id.0.to_string()));
        let numbers: Vec<String> = numbers.collect::<Option<_>>()?;
        let is_any = numbers.is_empty();
        let numbers = if is_any {
            "all".to_owned()
        } else {
            numbers.join(",")
        };
        Some(self.alteration(cluster, table, "NODES", numbers))
    }

    /// Whether a table is offline, or comes back, or is about to go.
    pub(crate) fn is_out_of_service(&self, cluster: &Cluster, table: usize) -> bool {
        let name = &cluster.ground.shape.tables[table].name;
        let latest = cluster.checkers.latest.as_ref();
        let known = latest.and_then(|catalog| catalog.table(name));
        let mut orders = self.orders.iter();
        let is_to_go = orders.any(|it| *it == Order::TakeOffline(table));
        is_to_go || known.is_some_and(|table| !table.is_online())
    }

    fn words_of_split(&self, cluster: &Cluster, table: usize, dice: u64) -> Option<String> {
        let name = &cluster.ground.shape.tables[table].name;
        let table = cluster.checkers.latest.as_ref()?.table(name)?;
        let partitions: Vec<_> = table.partitions().map(|(id, _)| id).collect();
        let at = Random::new(dice).index(partitions.len());
        Some(format!("TABLE SPLIT {name} {}", partitions.get(at)?))
    }

    /// `None`: no partition was split, or none is any more.
    fn words_of_merge(&self, cluster: &Cluster, table: usize, dice: u64) -> Option<String> {
        let name = &cluster.ground.shape.tables[table].name;
        let catalog = cluster.checkers.latest.as_ref()?;
        let table = catalog.table(name)?;
        let least = catalog.first_depth(table);
        let leaves = table.map.partitions().leaves().iter();
        let split: Vec<_> = leaves.filter(|leaf| leaf.prefix.depth() > least).collect();
        let at = Random::new(dice).index(split.len().max(1));
        Some(format!("TABLE MERGE {name} {}", split.get(at)?.partition))
    }

    /// The operator has something to read.
    pub(crate) fn read(&mut self, cluster: &mut Cluster, id: ConnectionId) {
        let Some(connection) = cluster.network.get_mut(id) else {
            return;
        };
        let flow = &mut connection.flows[1];
        for bytes in flow.arrived.drain(..) {
            flow.bytes -= bytes.len();
            self.received.extend_from_slice(&bytes);
        }
        cluster.wake_sender(Socket {
            connection: id,
            end: 1,
        });
        if self.connection == Some(id)
            && self.asked_at.is_some()
            && let Some((reply, _)) = read_reply(&self.received)
        {
            self.received.clear();
            self.asked_at = None;
            self.hear(cluster, &reply);
        }
    }

    fn hear(&mut self, cluster: &mut Cluster, reply: &Reply) {
        cluster.tell(|| format!("the operator is told {reply}"));
        let Some(order) = self.orders.pop_front() else {
            return;
        };
        let Reply::Error(line) = reply else {
            self.holds(order);
            return cluster.count("orders");
        };
        match (fate(line), order) {
            (fate @ (Fate::NotExecuted | Fate::Unknown), _) => {
                if fate == Fate::Unknown {
                    self.doubt(cluster);
                }
                self.orders.push_front(order);
                self.leave(cluster);
            }
            // It is being emptied, unless it was refused or somebody wants it otherwise by now.
            (_, Order::Remove(node))
                if cluster.member_of(node).is_some_and(|it| it.weight() == 0) =>
            {
                self.orders.push_back(order);
            }
            // The last one that may vote: it is not removed either.
            (_, Order::Demote(node)) => {
                let is_of_it = |it: &Order| matches!(it, Order::Remove(other) if *other == node);
                self.orders.retain(|it| !is_of_it(it));
                cluster.count("orders refused");
            }
            (_, order) => {
                if let Order::TakeOffline(table) = order {
                    // It stays as it was; and so it does if what was asked before comes through yet.
                    self.holds(Order::BringOnline(table));
                }
                cluster.count("orders refused");
            }
        }
    }

    pub(crate) fn is_left(&mut self, cluster: &mut Cluster, id: ConnectionId) {
        if self.connection == Some(id) {
            self.connection = None;
            self.leave(cluster);
        }
    }
}
