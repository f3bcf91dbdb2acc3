//! The node's data directory: opened or made, and what it has of a cluster.
//!
//! Opened before the ports are taken, since the directory says how many bricks there are; the cluster is
//! told after, since it is told the ports.

use super::error::StartError;
use super::registration::registration;
use crate::addresses::ListenAddresses;
use crate::cluster::{self, Stored};
use crate::config::Config;
use crate::control::FileSystems;
use brickyard_metadata::{Catalog, DEFAULT_TABLE, Node, Registration};
use brickyard_node::First;
use brickyard_node::discovery::Kept;
use brickyard_store::{self as store, Create, DataDir, Disk as _, OsDisk};
use brickyard_types::{BrickId, TableAttributes};
use std::path::PathBuf;
use tempfile::TempDir;

/// Bytes of the file system that only deletes and the cleaner may use: two segments.
const RESERVE_SEGMENTS: u64 = 2;

/// The file that has the node's part of the cluster.
const CONTROL: &str = "control";

/// A data directory. The lock is held as long as this lives.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) directory: DataDir,
    /// What the directory has of a cluster; taken by the cluster's part of the node.
    pub(super) stored: Option<Stored>,
    /// What it has while there is no cluster.
    pub(super) kept: Kept,
    bricks: u32,
    /// Removed when dropped, after the lock was given back.
    _temporary: Option<TempDir>,
}

impl Data {
    /// Locks the directory and reads its catalog; makes the directory if it is missing.
    pub(super) fn open(config: &Config) -> Result<Self, StartError> {
        let temporary = if config.temporary {
            let made = tempfile::Builder::new().prefix("brickyard-").tempdir();
            Some(made.map_err(StartError::Temporary)?)
        } else {
            None
        };
        let path = match &temporary {
            Some(temporary) => temporary.path().join("data"),
            None => PathBuf::from(&config.data),
        };
        let directory = DataDir::open(path, Create::IfMissing)?;
        let stored = cluster::open(&directory)?;
        let kept = cluster::load_kept(directory.disk())?;
        let catalog = stored.as_ref().and_then(|stored| stored.catalog.as_ref());
        let bricks = match catalog {
            Some(catalog) => {
                let bricks = own_node(catalog, &directory)?.bricks().len();
                check_bricks(config, bricks, &directory)?;
                warn_of_default_table(config, catalog);
                bricks as u32
            }
            None => {
                check_no_logs(&directory)?;
                new_bricks(config)
            }
        };
        Ok(Self {
            directory,
            stored,
            kept,
            bricks,
            _temporary: temporary,
        })
    }

    /// How many bricks the node has.
    pub(super) fn bricks(&self) -> usize {
        self.bricks as usize
    }

    /// What the node says of itself in this life. A directory without a cluster, and without nodes to meet,
    /// becomes one of its own.
    pub(super) fn introduce(
        &mut self,
        config: &Config,
        addresses: &ListenAddresses,
    ) -> Result<Registration, StartError> {
        let registration = registration(config, &self.directory, addresses)?;
        if self.stored.is_none() && config.join.0.is_empty() {
            let made = cluster::genesis(registration.clone(), default_attributes(config));
            let catalog = made.map_err(StartError::Cluster)?;
            let directory = cluster::directory_of(&self.directory);
            self.stored = Some(cluster::found(&directory, &catalog)?);
            let directory = self.directory.path().display();
            tracing::info!(%directory, bricks = self.bricks, "data directory made");
        }
        Ok(registration)
    }

    /// Whether what the bricks are made with is as the directory has it.
    pub(super) fn check(&self, first: &First) -> Result<(), StartError> {
        let have = first
            .catalog
            .node(first.node)
            .map(|node| node.bricks().len());
        if have == Some(self.bricks()) {
            return Ok(());
        }
        Err(StartError::Bricks {
            asked: self.bricks,
            have: have.unwrap_or(0),
            directory: self.directory.path().display().to_string(),
        })
    }

    /// A brick's own directory.
    pub(super) fn brick(&self, index: usize) -> Result<OsDisk, StartError> {
        Ok(self.directory.brick(BrickId(index as u32))?)
    }

    /// The file systems that all of it is on.
    pub(super) fn file_systems(&self) -> Result<FileSystems, StartError> {
        let bricks = (0..self.bricks()).map(|index| self.brick(index));
        let bricks = bricks.collect::<Result<Vec<_>, _>>()?;
        Ok(FileSystems::new(self.directory.disk().clone(), bricks))
    }

    /// How a brick's log is kept.
    pub(super) fn store_config(&self, config: &Config, index: usize) -> store::LogConfig {
        let mut store = store::LogConfig::new(BrickId(index as u32), self.directory.directory());
        let most = u64::from(store::SEGMENT_BYTES_MAX);
        store.segment_bytes = config.segment_bytes.0.min(most) as u32;
        store.reserve_bytes = RESERVE_SEGMENTS * config.segment_bytes.0;
        store.runway_bytes = config.runway_bytes.0.min(u64::from(u32::MAX)) as u32;
        store.page_cache = self.directory.page_cache();
        store
    }

    /// Whether the end of a log was cut off, and other replicas may have more.
    pub(super) fn is_end_cut(&self) -> bool {
        self.directory.is_end_cut()
    }

    /// Notes that every log was opened in this boot of the machine.
    pub(super) fn confirm(&mut self) -> Result<(), StartError> {
        let is_unsure = self.directory.is_tail_unsure();
        self.directory.confirm_boot()?;
        if is_unsure {
            tracing::warn!(
                "the machine stopped since the last run: writes of its last second to tables with \
                 durability log may be missing here; replicas that have them are asked"
            );
        }
        Ok(())
    }
}

/// The node of a catalog whose directory this is.
fn own_node<'a>(catalog: &'a Catalog, directory: &DataDir) -> Result<&'a Node, StartError> {
    let key = directory.node();
    catalog
        .node_by_key(&key)
        .ok_or_else(|| StartError::ForeignCatalog {
            file: directory.disk().describe(CONTROL),
            key: key.to_string(),
        })
}

fn check_no_logs(directory: &DataDir) -> Result<(), StartError> {
    match directory.bricks()?.len() {
        0 => Ok(()),
        bricks => Err(StartError::CatalogMissing {
            file: directory.disk().describe(CONTROL),
            bricks,
        }),
    }
}

fn new_bricks(config: &Config) -> u32 {
    let bricks = match config.bricks {
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        bricks => bricks,
    };
    bricks.min(crate::config::BRICKS_MAX)
}

pub(super) fn default_attributes(config: &Config) -> TableAttributes {
    TableAttributes {
        medium: config.default_medium,
        durability: config.default_durability,
        replicas: config.copies_by_default(),
        maxmemory: (config.default_maxmemory.0 > 0).then_some(config.default_maxmemory.0),
        evict: config.default_evict,
        ..TableAttributes::default()
    }
}

fn check_bricks(config: &Config, have: usize, directory: &DataDir) -> Result<(), StartError> {
    if config.bricks == 0 || config.bricks as usize == have {
        return Ok(());
    }
    Err(StartError::Bricks {
        asked: config.bricks,
        have,
        directory: directory.path().display().to_string(),
    })
}

/// The settings of the default table make it; they do not change it.
fn warn_of_default_table(config: &Config, catalog: &Catalog) {
    let asked = default_attributes(config);
    let usual = Config::default();
    let is_asked = asked != default_attributes(&usual);
    let differs = catalog.table(DEFAULT_TABLE).is_some_and(|table| {
        // How many copies there are of it is a matter of the nodes; up to how many, one of the settings.
        let copies_max = table.layout.copies_max.unwrap_or(asked.replicas);
        let attributes = TableAttributes {
            replicas: copies_max,
            ..table.attributes.clone()
        };
        attributes != asked
    });
    if differs && is_asked {
        tracing::warn!(
            "the default_* settings differ from the table `default`, which was made at the first \
             start and stays as it is; change it by TABLE ALTER default"
        );
    }
}
