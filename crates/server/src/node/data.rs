//! The node's data directory and catalog, opened or made.

use super::StartError;
use crate::clock;
use crate::config::Config;
use crate::control::CatalogFile;
use brickyard_metadata::{Catalog, ClusterId, DEFAULT_TABLE, Genesis};
use brickyard_routing::{Candidate, Member, NodeId};
use brickyard_store::{self as store, Create, DataDir, OsDisk};
use brickyard_types::{BrickId, TableAttributes};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The only node there is until nodes form clusters.
const NODE: NodeId = NodeId(0);

/// Bytes of the file system that only deletes and the cleaner may use: two segments.
const RESERVE_SEGMENTS: u64 = 2;

/// See the module. The lock is held as long as this lives.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) directory: DataDir,
    pub(super) catalog: Arc<Catalog>,
    /// Removed when dropped, after the lock was given back.
    _temporary: Option<TempDir>,
}

impl Data {
    /// Locks the directory and reads its catalog; makes both if they are missing.
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
        let file = CatalogFile::new(directory.disk().clone());
        let catalog = match file.load()? {
            Some(catalog) => {
                check_bricks(config, &catalog, &directory)?;
                warn_of_default_table(config, &catalog);
                catalog
            }
            None => found(config, &directory, &file)?,
        };
        Ok(Self {
            directory,
            catalog: Arc::new(catalog),
            _temporary: temporary,
        })
    }

    /// A brick's own directory.
    pub(super) fn brick(&self, index: usize) -> Result<OsDisk, StartError> {
        Ok(self.directory.brick(BrickId(index as u32))?)
    }

    /// How a brick's log is kept.
    pub(super) fn store_config(&self, config: &Config, index: usize) -> store::Config {
        let mut store = store::Config::new(BrickId(index as u32), self.directory.directory());
        let most = u64::from(store::SEGMENT_BYTES_MAX);
        store.segment_bytes = config.segment_bytes.0.min(most) as u32;
        store.reserve_bytes = RESERVE_SEGMENTS * config.segment_bytes.0;
        store.page_cache = self.directory.page_cache();
        store
    }

    /// Where the catalog is kept.
    pub(super) fn catalog_file(&self) -> CatalogFile {
        CatalogFile::new(self.directory.disk().clone())
    }

    /// Notes that every log was opened in this boot of the machine.
    pub(super) fn confirm(mut self) -> Result<Self, StartError> {
        let is_unsure = self.directory.is_tail_unsure();
        self.directory.confirm_boot()?;
        if is_unsure {
            tracing::warn!(
                "the machine stopped since the last run: writes of its last second to tables with \
                 durability log may be missing, and there is no replica to ask"
            );
            self.directory.confirm_tail()?;
        }
        Ok(self)
    }
}

fn found(config: &Config, directory: &DataDir, file: &CatalogFile) -> Result<Catalog, StartError> {
    let bricks = directory.bricks()?.len();
    if bricks > 0 {
        return Err(StartError::CatalogMissing {
            file: file.describe(),
            bricks,
        });
    }
    let bricks = match config.bricks {
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        bricks => bricks,
    };
    let bricks = bricks.min(crate::config::BRICKS_MAX);
    let candidate = |brick| Candidate {
        member: Member {
            node: NODE,
            brick: BrickId(brick),
        },
        weight: 1,
    };
    let catalog = Catalog::found(Genesis {
        cluster: ClusterId(u128::from_le_bytes(random()?)),
        bricks: (0..bricks).map(candidate).collect(),
        attributes: default_attributes(config),
        partitions: None,
        seed: u64::from_le_bytes(random()?),
        created: clock::unix(),
    })?;
    file.store(&catalog)
        .map_err(|source| StartError::CatalogWrite {
            file: file.describe(),
            source,
        })?;
    tracing::info!(directory = %directory.path().display(), bricks, "data directory made");
    Ok(catalog)
}

fn default_attributes(config: &Config) -> TableAttributes {
    TableAttributes {
        medium: config.default_medium,
        durability: config.default_durability,
        maxmemory: (config.default_maxmemory.0 > 0).then_some(config.default_maxmemory.0),
        evict: config.default_evict,
        ..TableAttributes::default()
    }
}

fn check_bricks(config: &Config, catalog: &Catalog, directory: &DataDir) -> Result<(), StartError> {
    let have = catalog.bricks().len();
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
    let differs = catalog
        .table(DEFAULT_TABLE)
        .is_some_and(|table| table.attributes != asked);
    if differs && asked != TableAttributes::default() {
        tracing::warn!(
            "the default_* settings differ from the table `default`, which was made at the first \
             start and stays as it is; change it by TABLE ALTER default"
        );
    }
}

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], StartError> {
    let mut bytes = [0; N];
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::rand::getrandom(&mut bytes[..], flags) {
        Ok(got) if got == N => Ok(bytes),
        Ok(_) => Err(StartError::Random(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(StartError::Random(error.into())),
    }
}
