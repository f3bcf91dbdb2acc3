//! Asking all nodes.
//!
//! In:  HTTP addresses to begin with. Out: what each node said, or why it did not.

use super::node_status::{Entry, NodeStatus};
use crate::http::{self, Access};
use anyhow::{Context, bail};
use std::{collections::BTreeMap, thread, time::Duration};

/// How long a node may take to answer. What it says is in its memory.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Most nodes that are asked at a time.
const AT_A_TIME: usize = 32;

/// What was heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSnapshot {
    /// Who was asked first.
    pub(crate) asked: String,
    /// The answer of the node whose catalog is the newest.
    pub(crate) newest: NodeStatus,
    /// By node id: its answer, or why there is none. Nodes without HTTP are not in it.
    pub(crate) answers: BTreeMap<u32, Result<NodeStatus, String>>,
}

/// Asks the first of these addresses that answers, and then every node that it names.
pub(crate) fn snapshot(addresses: &[String], access: &Access) -> anyhow::Result<ClusterSnapshot> {
    let mut refusals = Vec::new();
    for address in addresses {
        match ask(address, access) {
            Ok(node_status) => return Ok(snapshot_from(address, node_status, access)),
            Err(error) => refusals.push(format!("{error:#}")),
        }
    }
    bail!(
        "no node answered; name the HTTP port of one that runs with --http HOST:PORT\n  {}",
        refusals.join("\n  ")
    )
}

fn ask(address: &str, access: &Access) -> anyhow::Result<NodeStatus> {
    let answer = http::get(address, "/status", ANSWER_LIMIT, access)?;
    let url = access.url(address, "/status");
    if answer.status == 401 {
        bail!("{url} asks for a token; give one of its http_tokens in BRICKYARD_HTTP_TOKEN");
    }
    if answer.status != 200 {
        bail!("{url} answered {}", answer.status);
    }
    serde_json::from_slice(&answer.body)
        .with_context(|| format!("{url} is not what a node of this version says"))
}

fn snapshot_from(asked: &str, first: NodeStatus, access: &Access) -> ClusterSnapshot {
    let me = first.membership.node;
    let others: Vec<&Entry> = first
        .nodes
        .iter()
        .filter(|node| Some(node.node) != me)
        .collect();
    let mut answers = BTreeMap::new();
    for batch in others.chunks(AT_A_TIME) {
        thread::scope(|scope| {
            let asked: Vec<_> = batch
                .iter()
                .filter_map(|node| {
                    let address = join(&node.host, node.http_port?);
                    let answer =
                        scope.spawn(move || ask(&address, access).map_err(|it| format!("{it:#}")));
                    Some((node.node, answer))
                })
                .collect();
            for (node, answer) in asked {
                let answer = answer
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                answers.insert(node, answer);
            }
        });
    }
    let mut newest = first.clone();
    for node_status in answers.values().flatten() {
        if node_status.catalog_version > newest.catalog_version
            && node_status.cluster == newest.cluster
        {
            newest = node_status.clone();
        }
    }
    if let Some(me) = me {
        answers.insert(me, Ok(first));
    }
    ClusterSnapshot {
        asked: asked.to_owned(),
        newest,
        answers,
    }
}

/// `host:port`, with the brackets that an IPv6 address needs.
pub(crate) fn join(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
