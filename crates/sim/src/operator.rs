//! An operator, who says what nodes are used for, how tables are laid out, and when partitions may move: over a connection to some node, until it is
//! done or refused.
//!
//! In:  orders of faults. Out: commands; which nodes are to be gone for ever.
//!
//! Invariant: an order whose outcome is not known is given again. Nothing is lost if it is carried out twice; but it may be
//! carried out after another one that came behind it, so when that cannot be any more the last words are said again.
//!
//! Not here: whether what was ordered comes about ([`judge::wanted`](crate::judge)).

pub(crate) mod orders;

use crate::clients::command;
use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::operator::orders::{Order, Subject};
use crate::process::Ending;
use crate::random::Random;
use crate::reply::{Reply, read_reply};
use crate::what::What;
use crate::world::World;
use brickyard_brick::Port;
use brickyard_metadata::Node;
use brickyard_wire::{Fate, fate};
use std::collections::BTreeSet;
use std::fmt::Display;

/// An answer is awaited for so long; nodes give up before that.
const PATIENCE: Nanos = 12 * SECOND;

impl World {
    /// An operator wants something.
    pub(crate) fn order(&mut self, order: Order) {
        self.tell(|| format!("an operator wants: {order:?}"));
        if let Order::Confine(table, _) = order {
            self.operator.confined.insert(table);
        }
        self.operator.orders.push_back(order);
        self.operate_soon();
    }

    fn operate_soon(&mut self) {
        if !self.operator.orders.is_empty() && !std::mem::replace(&mut self.operator.is_due, true) {
            let delay = self.chance.between(20, 200) * MILLISECOND;
            self.after(delay, What::Operate);
        }
    }

    /// The operator does the next thing.
    pub(crate) fn operate(&mut self) {
        self.operator.is_due = false;
        let is_late = |at: Nanos| self.now - at > PATIENCE;
        if self.operator.asked_at.is_some_and(is_late) {
            self.operator_leaves();
        }
        // How many copies tables want counts for what may be done to nodes.
        if self.operator.connection.is_none() && self.clients.are_tables_made() {
            self.operator_connects();
        }
        if self.operator.asked_at.is_none()
            && let Some(id) = self.operator.connection
        {
            self.give_order(id);
        }
        self.operate_soon();
    }

    fn operator_connects(&mut self) {
        let node = self.chance.index(self.machines.len());
        let machine = &self.machines[node];
        let Some(process) = &machine.process else {
            return;
        };
        if process.bricks.is_empty() || machine.paused_until > self.now {
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
        let id = self.network.connect([near, far], what);
        self.operator.connection = Some(id);
        let socket = Socket {
            connection: id,
            end: 1,
        };
        self.give(node, 0, |outside| {
            outside.accepted.push_back((Port::Node, socket));
        });
    }

    fn operator_leaves(&mut self) {
        if self.operator.asked_at.take().is_some() {
            self.operator_doubts();
        }
        self.operator.received.clear();
        if let Some(id) = self.operator.connection.take() {
            self.close_end(id, 0);
        }
    }

    /// Whether an order was carried out is not known, or whether it will be.
    fn operator_doubts(&mut self) {
        self.after(PATIENCE, What::Affirm);
    }

    /// The operator says again how everything is to be, but for what it is about to say anyway.
    pub(crate) fn affirm(&mut self) {
        let orders = &mut self.operator.orders;
        let next: BTreeSet<Subject> = orders.iter().filter_map(|it| it.subject()).collect();
        let latest = self.operator.latest.iter();
        let latest = latest.filter(|(subject, _)| !next.contains(subject));
        orders.extend(latest.map(|(_, order)| *order));
        self.operate_soon();
    }

    fn give_order(&mut self, id: ConnectionId) {
        let Some(order) = self.operator.orders.front().copied() else {
            return;
        };
        let Some(words) = self.words(order) else {
            // Who is not there yet, or no more, needs no orders.
            self.operator.orders.pop_front();
            return;
        };
        if let Order::Remove(node) = order {
            self.operator.unwanted.insert(node);
        }
        self.operator.asked_at = Some(self.now);
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        self.send_bytes(id, 0, command(&words));
    }

    /// How an order is given; `None`: a node is no member.
    fn words(&self, order: Order) -> Option<Vec<String>> {
        let number = |node: usize| Some(self.member_of(node)?.id.0);
        let line = match order {
            Order::Drain(node) => format!("NODE DRAIN {}", number(node)?),
            Order::Weigh(node, weight) => format!("NODE ALTER {} WEIGHT {weight}", number(node)?),
            Order::Demote(node) => format!("NODE ALTER {} CONTROL no", number(node)?),
            Order::Remove(node) => format!("NODE REMOVE {}", number(node)?),
            Order::Replace(old, new) => format!("NODE REPLACE {} {}", number(old)?, number(new)?),
            Order::Split(table, dice) => self.words_of_split(table, dice)?,
            Order::Merge(table, dice) => self.words_of_merge(table, dice)?,
            Order::Place(table, placement) => self.alteration(table, "PLACEMENT", placement),
            Order::Confine(table, nodes) => self.words_of_nodes(table, nodes)?,
            Order::Bound(table, Some(bytes)) => self.alteration(table, "PARTITION_BYTES", bytes),
            Order::Bound(table, None) => self.alteration(table, "PARTITION_BYTES", "default"),
            Order::Employ(node, roles) => {
                // Who is to be gone stays without the roles that were taken from it for that.
                let is_leaving = self.operator.is_to_remove(node);
                let number = number(node).filter(|_| !is_leaving)?;
                format!("NODE ALTER {number} ROLES {roles}")
            }
            Order::TakeOffline(table) => format!("TABLE OFFLINE {}", self.shape.tables[table].name),
            Order::BringOnline(table) => format!("TABLE ONLINE {}", self.shape.tables[table].name),
            Order::PauseMoves => "REBALANCE PAUSE".to_owned(),
            Order::ResumeMoves => "REBALANCE RESUME".to_owned(),
        };
        Some(line.split(' ').map(str::to_owned).collect())
    }

    fn alteration(&self, table: usize, name: &str, value: impl Display) -> String {
        let table = &self.shape.tables[table].name;
        format!("TABLE ALTER {table} {name} {value}")
    }

    /// `None`: one of the nodes is no member.
    fn words_of_nodes(&self, table: usize, nodes: u8) -> Option<String> {
        let named = (0..self.machines.len()).filter(|node| nodes & (1 << node) != 0);
        let numbers = named.map(|node| Some(self.member_of(node)?.id.0.to_string()));
        let numbers: Vec<String> = numbers.collect::<Option<_>>()?;
        let is_any = numbers.is_empty();
        let numbers = if is_any {
            "all".to_owned()
        } else {
            numbers.join(",")
        };
        Some(self.alteration(table, "NODES", numbers))
    }

    /// Whether a table is offline, or comes back, or is about to go.
    pub(crate) fn is_out_of_service(&self, table: usize) -> bool {
        let name = &self.shape.tables[table].name;
        let latest = self.judges.latest.as_ref();
        let known = latest.and_then(|catalog| catalog.table(name));
        let mut orders = self.operator.orders.iter();
        let is_to_go = orders.any(|it| *it == Order::TakeOffline(table));
        is_to_go || known.is_some_and(|table| !table.is_online())
    }

    fn words_of_split(&self, table: usize, dice: u64) -> Option<String> {
        let name = &self.shape.tables[table].name;
        let table = self.judges.latest.as_ref()?.table(name)?;
        let partitions: Vec<_> = table.partitions().map(|(id, _)| id).collect();
        let at = Random::new(dice).index(partitions.len());
        Some(format!("TABLE SPLIT {name} {}", partitions.get(at)?))
    }

    /// `None`: no partition was split, or none is any more.
    fn words_of_merge(&self, table: usize, dice: u64) -> Option<String> {
        let name = &self.shape.tables[table].name;
        let catalog = self.judges.latest.as_ref()?;
        let table = catalog.table(name)?;
        let least = catalog.first_depth(table);
        let leaves = table.map.partitions().leaves().iter();
        let split: Vec<_> = leaves.filter(|leaf| leaf.prefix.depth() > least).collect();
        let at = Random::new(dice).index(split.len().max(1));
        Some(format!("TABLE MERGE {name} {}", split.get(at)?.partition))
    }

    /// What the newest catalog says of a machine's node.
    pub(crate) fn member_of(&self, node: usize) -> Option<&Node> {
        let catalog = self.judges.latest.as_ref()?;
        catalog.node_by_key(&self.machines[node].key)
    }

    /// The operator has something to read.
    pub(crate) fn operator_reads(&mut self, id: ConnectionId) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        let flow = &mut connection.flows[1];
        for bytes in flow.arrived.drain(..) {
            flow.bytes -= bytes.len();
            self.operator.received.extend_from_slice(&bytes);
        }
        self.wake_sender(Socket {
            connection: id,
            end: 1,
        });
        if self.operator.connection == Some(id)
            && self.operator.asked_at.is_some()
            && let Some((reply, _)) = read_reply(&self.operator.received)
        {
            self.operator.received.clear();
            self.operator.asked_at = None;
            self.operator_is_told(&reply);
        }
    }

    fn operator_is_told(&mut self, reply: &Reply) {
        self.tell(|| format!("the operator is told {reply}"));
        let Some(order) = self.operator.orders.pop_front() else {
            return;
        };
        let Reply::Error(line) = reply else {
            self.operator.holds(order);
            return self.count("orders");
        };
        match (fate(line), order) {
            (fate @ (Fate::NotExecuted | Fate::Unknown), _) => {
                if fate == Fate::Unknown {
                    self.operator_doubts();
                }
                self.operator.orders.push_front(order);
                self.operator_leaves();
            }
            // It is being emptied, unless it was refused or somebody wants it otherwise by now.
            (_, Order::Remove(node)) if self.member_of(node).is_some_and(|it| it.weight() == 0) => {
                self.operator.orders.push_back(order);
            }
            // The last one that may vote: it is not removed either.
            (_, Order::Demote(node)) => {
                let is_of_it = |it: &Order| matches!(it, Order::Remove(other) if *other == node);
                self.operator.orders.retain(|it| !is_of_it(it));
                self.count("orders refused");
            }
            (_, order) => {
                if let Order::TakeOffline(table) = order {
                    // It stays as it was; and so it does if what was asked before comes through yet.
                    self.operator.holds(Order::BringOnline(table));
                }
                self.count("orders refused");
            }
        }
    }

    pub(crate) fn operator_is_left(&mut self, id: ConnectionId) {
        if self.operator.connection == Some(id) {
            self.operator.connection = None;
            self.operator_leaves();
        }
    }

    /// A node that was removed has heard of it, and ends for ever.
    pub(crate) fn retire(&mut self, node: usize) -> bool {
        let is_right = self.operator.wants_gone(node);
        if is_right {
            self.count("removed nodes that ended");
            self.end(node, Ending::Stop);
            self.machines[node].is_retired = true;
        }
        is_right
    }
}
