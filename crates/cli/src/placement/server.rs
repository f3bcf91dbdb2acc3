//! Asking a server about nodes and moves.

use super::replies::{self, NodeRow, Planned, RebalanceStatus, each};
use anyhow::{Context, bail};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;

/// A server that is asked again and again: it may be the one that is emptied, and go.
pub(crate) struct Server {
    target: Target,
    link: Option<Link>,
}

impl Server {
    pub(crate) fn open(target: Target) -> anyhow::Result<Self> {
        let link = Some(Link::open(&target)?);
        Ok(Self { target, link })
    }

    /// Another node of the cluster.
    pub(crate) fn at(&self, address: &str) -> anyhow::Result<Self> {
        Self::open(Target {
            address: address.to_owned(),
            ..self.target.clone()
        })
    }

    /// The reply, errors of the server included.
    fn reply(&mut self, request: &[&str]) -> anyhow::Result<Value> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => Link::open(&self.target)?,
        };
        let reply = link.call(request)?;
        self.link = Some(link);
        Ok(reply)
    }

    fn ask(&mut self, request: &[&str]) -> anyhow::Result<Value> {
        let reply = self.reply(request)?;
        if let Value::Error(text) = &reply {
            bail!(
                "{} refused {}: {}",
                self.target.address,
                request.join(" "),
                String::from_utf8_lossy(text)
            );
        }
        Ok(reply)
    }

    /// Lets the server do something.
    pub(crate) fn order(&mut self, request: &[&str]) -> anyhow::Result<()> {
        self.ask(request).map(|_| ())
    }

    /// Why the server does not do something, if it does not.
    pub(crate) fn refusal(&mut self, request: &[&str]) -> anyhow::Result<Option<String>> {
        Ok(match self.reply(request)? {
            Value::Error(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        })
    }

    pub(crate) fn nodes(&mut self) -> anyhow::Result<Vec<NodeRow>> {
        let reply = self.ask(&["NODE", "LIST"])?;
        each(&reply, NodeRow::read).with_context(|| self.strange("NODE LIST"))
    }

    /// The node of that number, as long as it is in the cluster.
    pub(crate) fn node(&mut self, number: u32) -> anyhow::Result<Option<NodeRow>> {
        let nodes = self.nodes()?;
        Ok(nodes.into_iter().find(|row| row.node == number))
    }

    /// The tables that name a node among those that may hold their partitions.
    pub(crate) fn tables_on(&mut self, node: u32) -> anyhow::Result<Vec<String>> {
        let names = self.ask(&["TABLE", "LIST"])?;
        let name = |value: &Value| Some(String::from_utf8_lossy(value.bytes()?).into_owned());
        let names = each(&names, name).with_context(|| self.strange("TABLE LIST"))?;
        let mut found = Vec::new();
        for name in names {
            let described = self.reply(&["TABLE", "DESCRIBE", &name])?;
            if replies::nodes_named(&described).contains(&node) {
                found.push(name);
            }
        }
        Ok(found)
    }

    pub(crate) fn plan(&mut self) -> anyhow::Result<Vec<Planned>> {
        let reply = self.ask(&["REBALANCE", "PLAN"])?;
        each(&reply, Planned::read).with_context(|| self.strange("REBALANCE PLAN"))
    }

    pub(crate) fn rebalance_status(&mut self) -> anyhow::Result<RebalanceStatus> {
        let reply = self.ask(&["REBALANCE", "STATUS"])?;
        RebalanceStatus::read(&reply).with_context(|| self.strange("REBALANCE STATUS"))
    }

    fn strange(&self, request: &str) -> String {
        format!(
            "{}: the reply to {request} is not what a node of this version says",
            self.target.address
        )
    }
}
