//! Where a repository's files are: a directory, or object storage.
//!
//! Invariant: a file gets its name when it is complete: one that is there is whole.

#[cfg(feature = "object-storage")]
use super::bucket::Bucket;
use anyhow::{Context, ensure};
use std::{
    fmt,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    str::FromStr,
};

/// See the module.
#[derive(Clone, Debug)]
pub enum Place {
    /// Of this machine.
    Directory(PathBuf),
    #[cfg(feature = "object-storage")]
    /// Object storage.
    Bucket(Bucket),
}

impl FromStr for Place {
    type Err = anyhow::Error;

    /// A path, or what begins with a scheme, as `s3://bucket/prefix` does.
    fn from_str(location: &str) -> anyhow::Result<Self> {
        if !location.contains("://") {
            return Ok(Self::Directory(location.into()));
        }
        #[cfg(feature = "object-storage")]
        return Ok(Self::Bucket(Bucket::open(location)?));
        #[cfg(not(feature = "object-storage"))]
        anyhow::bail!(
            "this program was built without object storage; build it with --features object-storage to use {location}"
        );
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "{}", dir.display()),
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => write!(f, "{bucket}"),
        }
    }
}

impl Place {
    /// A file's name as a person would say it.
    pub fn full_name(&self, name: &str) -> String {
        match self {
            Self::Directory(dir) => dir.join(name).display().to_string(),
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => format!("{bucket}/{name}"),
        }
    }

    /// Makes it, if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make(&self) -> anyhow::Result<()> {
        match self {
            Self::Directory(dir) => fs::create_dir_all(dir).context("cannot make the directory"),
            // Names need no directory there.
            #[cfg(feature = "object-storage")]
            Self::Bucket(_) => Ok(()),
        }
        .with_context(|| self.to_string())
    }

    /// Checks that it is there.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> anyhow::Result<()> {
        match self {
            Self::Directory(dir) => ensure!(
                dir.is_dir(),
                "{self} is no directory; name the one that holds the backups"
            ),
            #[cfg(feature = "object-storage")]
            Self::Bucket(_) => {}
        }
        Ok(())
    }

    /// The files at its top, without directories.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Directory(dir) => {
                let entries = fs::read_dir(dir).with_context(|| format!("cannot read {self}"))?;
                let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
                names.filter_map(anyhow::Result::transpose).collect()
            }
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => bucket.names(),
        }
    }

    /// A small file's bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Directory(dir) => fs::read(dir.join(name)).map_err(anyhow::Error::from),
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => bucket.read(name),
        }
        .with_context(|| format!("cannot read {}", self.full_name(name)))
    }

    /// A file to read.
    ///
    /// # Errors
    /// If it cannot be opened, or fetched.
    pub fn open(&self, name: &str) -> anyhow::Result<File> {
        match self {
            Self::Directory(dir) => File::open(dir.join(name)).map_err(anyhow::Error::from),
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => bucket.fetch(name),
        }
        .with_context(|| format!("cannot open {}", self.full_name(name)))
    }

    /// Checks that a name is not taken.
    ///
    /// # Errors
    /// If it is taken.
    pub fn check_free(&self, name: &str) -> anyhow::Result<()> {
        let is_there = match self {
            Self::Directory(dir) => dir.join(name).exists(),
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => bucket.has(name)?,
        };
        ensure!(
            !is_there,
            "{} is there already; give the backup another name",
            self.full_name(name)
        );
        Ok(())
    }

    /// A file to write, of a name that is not taken.
    ///
    /// # Errors
    /// If the name is taken, or nothing can be written here.
    pub fn create(&self, name: String) -> anyhow::Result<NewFile> {
        self.check_free(&name)?;
        let (file, path_now) = match self {
            Self::Directory(dir) => {
                let path_now = dir.join(format!("{name}.unfinished"));
                if let Some(parent) = path_now.parent() {
                    fs::create_dir_all(parent)
                        .with_context(|| format!("cannot make {}", parent.display()))?;
                }
                let file = File::create(&path_now)
                    .with_context(|| format!("cannot make {}", path_now.display()))?;
                (file, path_now)
            }
            #[cfg(feature = "object-storage")]
            Self::Bucket(_) => tempfile::NamedTempFile::new()
                .and_then(|file| file.keep().map_err(|kept| kept.error))
                .context("cannot make a temporary file")?,
        };
        Ok(NewFile {
            out: BufWriter::new(file),
            place: self.clone(),
            name,
            path_now,
        })
    }

    /// Gives a complete file its name.
    fn take(&self, name: &str, file: &File, path_now: &Path) -> anyhow::Result<()> {
        match self {
            Self::Directory(dir) => {
                file.sync_all()?;
                let path = dir.join(name);
                fs::rename(path_now, &path)?;
                match path.parent() {
                    Some(parent) => Ok(File::open(parent)?.sync_all()?),
                    None => Ok(()),
                }
            }
            #[cfg(feature = "object-storage")]
            Self::Bucket(bucket) => bucket.store(name, path_now),
        }
    }
}

/// A file that is being written; gone again unless it is finished.
pub struct NewFile {
    /// Its bytes go here.
    pub out: BufWriter<File>,
    place: Place,
    /// Its name in the repository.
    name: String,
    path_now: PathBuf,
}

impl NewFile {
    /// It is complete: it gets its name, which is returned.
    ///
    /// # Errors
    /// If not all of it was written or stored, or the name is taken by now.
    pub fn finish(mut self) -> anyhow::Result<String> {
        let mut take = || {
            self.out.flush()?;
            self.place
                .take(&self.name, self.out.get_ref(), &self.path_now)
        };
        take().with_context(|| format!("cannot write {}", self.place.full_name(&self.name)))?;
        Ok(std::mem::take(&mut self.name))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Under its own name by now, or not wanted.
        let _ = fs::remove_file(&self.path_now);
    }
}
