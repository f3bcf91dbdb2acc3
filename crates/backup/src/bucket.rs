//! Backups in object storage: S3 and what speaks like it, Google Cloud Storage, Azure.
//!
//! In:  a URL, and the usual variables of the environment (`AWS_ACCESS_KEY_ID`, ...). Out: files.
//!
//! A part is written to a temporary file first and read from one: its size is known then, and what a connection that
//! breaks costs is asking again.
//!
//! Invariants:
//! - An object that is there is whole: it appears when all of it was stored.
//! - No object of one piece, and so no manifest, is replaced. Larger ones are looked for before: two backups of one name
//!   at the same time are told apart by the manifest, which only one of them gets to write, and by the parts' digests.

use anyhow::{Context, bail};
use futures_util::StreamExt;
use object_store::{
    Error, ObjectStore, ObjectStoreExt, PutMode, WriteMultipart, path::Path as ObjectPath,
};
use std::{
    fmt,
    fs::{self, File},
    io::{Read, Seek, Write},
    path::Path,
    sync::Arc,
};
use tokio::runtime::Runtime;
use url::Url;

/// What is stored in one request; of more than that, pieces of this size, several at once.
const PIECE_BYTES: usize = 8 << 20;

/// Pieces of one object that are on their way at once.
const PIECES_AT_ONCE: usize = 4;

/// Variables of the environment that say who asks.
const VARIABLES: [&str; 4] = ["AWS_", "GOOGLE_", "AZURE_", "OBJECT_STORE_"];

/// See the module.
#[derive(Clone)]
pub struct Bucket {
    url: String,
    prefix: ObjectPath,
    store: Arc<dyn ObjectStore>,
    /// The library is asynchronous; the threads that back up are not.
    runtime: Arc<Runtime>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("url", &self.url).finish()
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl Bucket {
    /// The one at a URL; nothing is asked of it yet.
    ///
    /// # Errors
    /// If it is no URL, or of no object storage that is known.
    pub fn open(location: &str) -> anyhow::Result<Self> {
        let is_ours = |name: &str| VARIABLES.iter().any(|it| name.starts_with(it));
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| is_ours(name))?;
            Some((name, value.into_string().ok()?))
        });
        Self::open_with(location, variables)
    }

    fn open_with(
        location: &str,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        let url = Url::parse(location).with_context(|| format!("'{location}' is no URL"))?;
        let (store, prefix) = object_store::parse_url_opts(&url, options)
            .with_context(|| format!("'{location}' names no object storage that is known"))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        Ok(Self {
            url: location.trim_end_matches('/').to_owned(),
            prefix,
            store: store.into(),
            runtime: Arc::new(runtime),
        })
    }

    fn path(&self, name: &str) -> ObjectPath {
        let parts = self.prefix.parts().map(|it| it.as_ref().to_owned());
        let parts: Vec<String> = parts
            .chain(name.split('/').map(ToOwned::to_owned))
            .collect();
        ObjectPath::from_iter(parts)
    }

    /// The objects directly below the prefix.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        let listed = self.store.list_with_delimiter(Some(&self.prefix));
        let listed = self.runtime.block_on(listed);
        let listed = listed.with_context(|| format!("cannot list {self}"))?;
        let names = listed.objects.iter();
        Ok(names
            .filter_map(|it| it.location.filename().map(ToOwned::to_owned))
            .collect())
    }

    /// Whether there is an object of that name.
    ///
    /// # Errors
    /// If nothing can be said about it.
    pub fn has(&self, name: &str) -> anyhow::Result<bool> {
        match self.runtime.block_on(self.store.head(&self.path(name))) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot look at {self}/{name}")),
        }
    }

    /// A small object's bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        Ok(self.runtime.block_on(read)?.to_vec())
    }

    /// An object as a file without a name.
    ///
    /// # Errors
    /// If it cannot be read, or there is no room for a temporary file.
    pub fn fetch(&self, name: &str) -> anyhow::Result<File> {
        let path = self.path(name);
        let mut file = tempfile::tempfile().context("cannot make a temporary file")?;
        self.runtime.block_on(async {
            let mut pieces = self.store.get(&path).await?.into_stream();
            while let Some(piece) = pieces.next().await {
                file.write_all(&piece?)?;
            }
            anyhow::Ok(())
        })?;
        file.rewind()?;
        Ok(file)
    }

    /// Stores a file under a name that is not taken.
    ///
    /// # Errors
    /// If it cannot be stored, or the name is taken.
    pub fn store(&self, name: &str, from: &Path) -> anyhow::Result<()> {
        let path = self.path(name);
        let mut file = File::open(from)?;
        if fs::metadata(from)?.len() <= PIECE_BYTES as u64 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let put = self
                .store
                .put_opts(&path, bytes.into(), PutMode::Create.into());
            return match self.runtime.block_on(put) {
                Ok(_) => Ok(()),
                Err(Error::AlreadyExists { .. }) => {
                    bail!("it is there already; give the backup another name")
                }
                Err(error) => Err(error.into()),
            };
        }
        self.runtime.block_on(async {
            let upload = self.store.put_multipart(&path).await?;
            let mut upload = WriteMultipart::new_with_chunk_size(upload, PIECE_BYTES);
            if let Err(error) = send(&mut upload, &mut file).await {
                // What was stored of it would cost its owner for ever.
                let _ = upload.abort().await;
                return Err(error);
            }
            upload.finish().await?;
            Ok(())
        })
    }
}

/// Sends a file piece by piece.
async fn send(upload: &mut WriteMultipart, file: &mut File) -> anyhow::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let bytes = file.read(&mut piece)?;
        if bytes == 0 {
            return Ok(());
        }
        upload.wait_for_capacity(PIECES_AT_ONCE).await?;
        upload.write(&piece[..bytes]);
    }
}

#[cfg(test)]
#[path = "bucket_test.rs"]
mod bucket_test;
