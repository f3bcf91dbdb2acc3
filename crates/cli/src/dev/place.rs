//! The directory of a trial cluster, and how a later `brickyard dev` finds it.
//!
//! ```text
//! DIR/dev.json        how many nodes, bricks, and from which port on
//! DIR/dev.sock        where kill, stop and start are asked for
//! DIR/node0/          a node's data directory
//! DIR/logs/node0.log  its log
//! DIR/certificates/   by which the nodes know one another
//! ```
//! A file of the user's own, `dev` in the run-time folder, names the directory of the cluster that runs.

use anyhow::{Context, bail};
use brickyard_tls::{IdentityFiles, MachineFiles};
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
use std::{
    env, fs, io,
    os::unix::{
        fs::{DirBuilderExt, MetadataExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Longest path of a socket that every system takes (`sun_path`).
const SOCKET_PATH_MAX: usize = 103;

/// What a cluster keeps from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) nodes: u16,
    pub(crate) bricks: u16,
    pub(crate) first_port: u16,
}

/// A cluster's directory.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    /// Removed with the value.
    temporary: Option<TempDir>,
    /// This process looks after it: the socket in it is its own.
    is_claimed: bool,
}

impl Place {
    /// The directory `dir`, made if it is missing; without one, a new one that is removed at the end.
    pub(crate) fn open(dir: Option<&Path>) -> anyhow::Result<Self> {
        let temporary = match dir {
            Some(_) => None,
            None => {
                let made = tempfile::Builder::new().prefix("brickyard-").tempdir();
                Some(made.context("cannot make a temporary directory; name one with --dir")?)
            }
        };
        let path = match (dir, &temporary) {
            (None, Some(temporary)) => temporary.path(),
            (dir, _) => dir.unwrap_or_else(|| Path::new(".")),
        };
        let logs = path.join("logs");
        fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        // Absolute, since whoever asks later is somewhere else.
        let path = path
            .canonicalize()
            .with_context(|| format!("cannot find {}", path.display()))?;
        let place = Self {
            path,
            temporary,
            is_claimed: false,
        };
        let socket = place.socket();
        if socket.as_os_str().len() > SOCKET_PATH_MAX {
            bail!(
                "{} is too long for the name of a socket; choose a --dir with a shorter path",
                socket.display()
            );
        }
        Ok(place)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether everything is thrown away at the end.
    pub(crate) const fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Takes the directory: there is one socket in it, and one who listens there.
    pub(crate) fn claim(&mut self) -> anyhow::Result<UnixListener> {
        let socket = self.socket();
        if UnixStream::connect(&socket).is_ok() {
            bail!(
                "a trial cluster runs in {} already; stop that one, or choose another --dir",
                self.path.display()
            );
        }
        // Left behind by one that was killed.
        if socket.exists() {
            fs::remove_file(&socket)
                .with_context(|| format!("cannot remove {}", socket.display()))?;
        }
        let listener = UnixListener::bind(&socket)
            .and_then(|it| it.set_nonblocking(true).map(|()| it))
            .with_context(|| format!("cannot listen at {}", socket.display()))?;
        self.is_claimed = true;
        Ok(listener)
    }

    fn socket(&self) -> PathBuf {
        socket_of(&self.path)
    }

    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.path.join(format!("node{node}"))
    }

    /// The settings by which the nodes know one another, and nobody else of this machine is taken for one.
    pub(super) fn certificates(&self) -> anyhow::Result<Vec<String>> {
        let files = MachineFiles::of(&self.path.join("certificates"))?;
        let IdentityFiles { certificate, key } = files.identity;
        let settings = [("cert", certificate), ("key", key), ("ca", files.authority)];
        let settings = settings
            .iter()
            .map(|(name, path)| format!("--peer-{name}={}", path.display()));
        Ok(settings.collect())
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    pub(crate) fn log(&self, node: usize) -> PathBuf {
        self.logs().join(format!("node{node}.log"))
    }

    /// What the last run kept, if there was one.
    pub(crate) fn state(&self) -> anyhow::Result<Option<State>> {
        let file = self.path.join("dev.json");
        match fs::read(&file) {
            Ok(bytes) => {
                let state = serde_json::from_slice(&bytes);
                let state = state.with_context(|| {
                    format!("{} is damaged; choose another --dir", file.display())
                })?;
                Ok(Some(state))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    pub(crate) fn keep(&self, state: &State) -> anyhow::Result<()> {
        let file = self.path.join("dev.json");
        let new = self.path.join("dev.json.new");
        fs::write(&new, serde_json::to_vec(state)?)
            .and_then(|()| fs::rename(&new, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Makes this the cluster that is found without `--dir`, unless another one runs; whether it is.
    pub(crate) fn announce(&self) -> anyhow::Result<bool> {
        if find(None).is_ok_and(|other| other != self.path) {
            return Ok(false);
        }
        let folder = user_folder()?;
        let file = folder.join("dev");
        fs::write(&file, self.path.as_os_str().as_encoded_bytes())
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(true)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_claimed {
            return;
        }
        // Whoever looks for a cluster finds that nobody listens, also if one of these fails.
        drop(fs::remove_file(self.socket()));
        if let Ok(folder) = user_folder() {
            let file = folder.join("dev");
            let is_mine = fs::read(&file)
                .is_ok_and(|bytes| bytes == self.path.as_os_str().as_encoded_bytes());
            if is_mine {
                drop(fs::remove_file(file));
            }
        }
    }
}

/// The socket of the cluster in a directory.
pub(crate) fn socket_of(dir: &Path) -> PathBuf {
    dir.join("dev.sock")
}

/// The directory of the cluster that runs in `dir`, or, without one, of the one that was announced.
pub(crate) fn find(dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    let (path, otherwise) = match dir {
        Some(dir) => (
            dir.to_owned(),
            format!("no trial cluster runs in {}", dir.display()),
        ),
        None => {
            let nothing = "no trial cluster runs; `brickyard dev` starts one, and --dir names one";
            let file = user_folder()?.join("dev");
            let text = fs::read_to_string(file).context(nothing)?;
            (PathBuf::from(text), nothing.to_owned())
        }
    };
    UnixStream::connect(socket_of(&path)).context(otherwise)?;
    Ok(path)
}

/// A folder that only this user can write to, and that is gone after the machine's next start at the latest.
fn user_folder() -> anyhow::Result<PathBuf> {
    let folder = match env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("brickyard"),
        None => env::temp_dir().join(format!("brickyard-{}", getuid().as_raw())),
    };
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    made.with_context(|| format!("cannot make {}", folder.display()))?;
    let owner = fs::symlink_metadata(&folder)?;
    if !owner.is_dir() || owner.uid() != getuid().as_raw() {
        bail!(
            "{} belongs to somebody else; remove it, or set XDG_RUNTIME_DIR to a folder of yours",
            folder.display()
        );
    }
    Ok(folder)
}
