//! A disk for a node of its own, that can be full, stall and be slow: a file system in a file.
//!
//! A stall is the system's own (`fsfreeze`): whoever writes or syncs waits in the kernel until it ends, and reads go on. A slow
//! disk is one that stalls for a while, again and again: what is written meanwhile takes that long.

use crate::failure::Failure;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// The file system's size; what is not used of it takes no room.
const BYTES: u64 = 4 << 30;

/// Ballast is written in such pieces.
const PIECE_BYTES: usize = 1 << 20;

/// How often it is tried to take the file system down, which is in use until its processes have ended.
const TRIES: u32 = 100;

/// What is written to a slow disk takes up to so long.
const SLOW_BY: Duration = Duration::from_millis(250);

/// How long a slow disk writes between two stalls.
const BREATH: Duration = Duration::from_millis(5);

/// What the system did not permit.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}; it takes root, mkfs.ext4, a loop device, and fsfreeze of util-linux")]
pub struct DiskError {
    what: String,
    why: String,
}

/// See the module; it is taken down with the value, and its file stays.
#[derive(Debug)]
pub struct SlowDisk {
    folder: PathBuf,
}

impl SlowDisk {
    /// A disk whose file and folder are below `dir`.
    ///
    /// # Errors
    /// Why this machine does not permit one.
    pub fn new(dir: &Path, name: &str) -> Result<Self, DiskError> {
        let image = dir.join(format!("{name}.img"));
        let folder = dir.join(name);
        let made = fs::create_dir_all(&folder)
            .and_then(|()| fs::File::create(&image))
            .and_then(|file| file.set_len(BYTES));
        made.map_err(|error| failed(&image.display().to_string(), error.to_string()))?;
        // Nothing is kept back for root, who fills it.
        run(
            "mkfs.ext4",
            &["-q".as_ref(), "-m".as_ref(), "0".as_ref(), &image],
        )?;
        run("mount", &["-o".as_ref(), "loop".as_ref(), &image, &folder])?;
        Ok(Self { folder })
    }

    /// Where a node may keep its data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Does to it what a failure is, until [`DiskHarm::end`].
    ///
    /// # Errors
    /// If the system does not permit that.
    ///
    /// # Panics
    /// If the failure is not one of a disk.
    pub fn harm(&self, failure: Failure) -> Result<DiskHarm<'_>, DiskError> {
        assert!(failure.is_disk(), "{failure:?} is no failure of a disk");
        let harm = match failure {
            Failure::DiskSlow => Harm::Slow(self.slow_down(SLOW_BY)?),
            Failure::DiskFull | Failure::LeaderDiskFull => {
                self.fill()?;
                Harm::Full
            }
            _ => {
                self.stall()?;
                Harm::Stalled
            }
        };
        let harm = Some(harm);
        Ok(DiskHarm { disk: self, harm })
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Takes all the room that there is.
    fn fill(&self) -> Result<(), DiskError> {
        let ballast = self.ballast();
        let filled = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&ballast)
            .and_then(|mut file| {
                take_room(&file)?;
                for bytes in [PIECE_BYTES, 4096, 1] {
                    fill_with(&mut file, &vec![1; bytes])?;
                }
                Ok(())
            });
        filled.map_err(|error| failed(&ballast.display().to_string(), error.to_string()))
    }

    /// Gives it back.
    fn make_room(&self) -> Result<(), DiskError> {
        let ballast = self.ballast();
        fs::remove_file(&ballast)
            .map_err(|error| failed(&ballast.display().to_string(), error.to_string()))
    }

    /// From now on nothing that is written comes to an end.
    ///
    /// # Errors
    /// If the system does not permit that.
    pub fn stall(&self) -> Result<(), DiskError> {
        freeze(&self.folder)
    }

    /// What was written meanwhile comes to its end.
    ///
    /// # Errors
    /// If the system does not permit that.
    pub fn go_on(&self) -> Result<(), DiskError> {
        unfreeze(&self.folder)
    }

    /// As long as the value lives, what is written takes up to so long.
    fn slow_down(&self, by: Duration) -> Result<Slowness, DiskError> {
        // So that it is known at once whether it can be done.
        self.stall()?;
        let folder = self.folder.clone();
        let (end, ended) = channel();
        let thread = spawn(move || {
            loop {
                let is_over = ended.recv_timeout(by) != Err(RecvTimeoutError::Timeout);
                let is_going_on = unfreeze(&folder).is_ok();
                if is_over || !is_going_on {
                    return;
                }
                sleep(BREATH);
                if freeze(&folder).is_err() {
                    return;
                }
            }
        });
        Ok(Slowness {
            end,
            thread: Some(thread),
        })
    }
}

#[derive(Debug)]
enum Harm {
    Full,
    Stalled,
    Slow(Slowness),
}

/// What a failure has done to a disk. It ends with the value, so that no process waits for ever for a disk that nobody remembers.
#[derive(Debug)]
pub struct DiskHarm<'a> {
    disk: &'a SlowDisk,
    harm: Option<Harm>,
}

impl DiskHarm<'_> {
    /// The disk is well again.
    ///
    /// # Errors
    /// If the system does not permit that.
    pub fn end(mut self) -> Result<(), DiskError> {
        self.heal()
    }

    fn heal(&mut self) -> Result<(), DiskError> {
        match self.harm.take() {
            Some(Harm::Full) => self.disk.make_room(),
            Some(Harm::Stalled) => self.disk.go_on(),
            Some(Harm::Slow(slowness)) => {
                drop(slowness);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Drop for DiskHarm<'_> {
    fn drop(&mut self) {
        // What is left of it ends with the disk.
        drop(self.heal());
    }
}

/// A disk is slow; it ends with the value.
#[derive(Debug)]
struct Slowness {
    end: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Slowness {
    fn drop(&mut self) {
        // If the thread has ended, the disk is as it was.
        let _ = self.end.send(());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // A campaign that was broken off may have left it as it was.
        drop(self.go_on());
        for _ in 0..TRIES {
            if run("umount", &[&self.folder]).is_ok() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
    }
}

fn freeze(folder: &Path) -> Result<(), DiskError> {
    run("fsfreeze", &["--freeze".as_ref(), folder])
}

fn unfreeze(folder: &Path) -> Result<(), DiskError> {
    run("fsfreeze", &["--unfreeze".as_ref(), folder])
}

/// Takes nearly all the room without writing it: a disk that is busy for seconds would be a failure of its own.
fn take_room(file: &fs::File) -> io::Result<()> {
    let (mut len, mut piece) = (0, BYTES);
    while piece >= PIECE_BYTES as u64 {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), len, piece) {
            Ok(()) => len += piece,
            Err(Errno::NOSPC) => {
                // A part of it may have been taken.
                file.set_len(len)?;
                piece /= 2;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn fill_with(file: &mut fs::File, piece: &[u8]) -> io::Result<()> {
    loop {
        match file.write_all(piece) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn run(program: &str, arguments: &[&Path]) -> Result<(), DiskError> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failed(program, error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(program, why))
}

fn failed(what: &str, why: String) -> DiskError {
    DiskError {
        what: what.to_owned(),
        why,
    }
}
