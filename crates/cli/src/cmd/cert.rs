//! `brickyard cert`: the cluster's own authority, and the certificates of its nodes and clients.
//!
//! Invariants:
//! - No file is ever written over: a key that is gone cannot be had again.
//! - A key is readable by its owner alone, from its first byte on.

use anyhow::{Context as _, bail};
use brickyard_tls::{Authority, CertificateRequest, CertificateRole, Issued};
use clap::{Args, Subcommand};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(86_400);

/// What `brickyard cert` takes.
#[derive(Args, Debug)]
#[command(after_help = "\
Example, for a cluster of two nodes:
  brickyard cert init
  brickyard cert node n1 --host 10.0.0.1,n1.example
  brickyard cert node n2 --host 10.0.0.2,n2.example
Each node gets its own pair and ca.crt. ca.key stays where it is, away from the nodes: whoever has it can let
anybody in. docs/operations.md tells how certificates are used and replaced.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the cluster's authority: ca.crt, which everybody gets, and ca.key, which nobody gets.
    Init(Init),
    /// Make a node's certificate and key.
    Node(Node),
    /// Make a client's certificate and key.
    Client(Client),
}

#[derive(Args, Debug)]
struct Init {
    #[command(flatten)]
    place: Place,
    /// How many days it is valid
    #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

#[derive(Args, Debug)]
struct Node {
    /// What the files are called; the node's name, say
    name: String,
    /// Host names and IP addresses by which clients call the node; localhost is always among them
    #[arg(long = "host", value_name = "HOST,...", value_delimiter = ',')]
    hosts: Vec<String>,
    #[command(flatten)]
    issue: Issue,
}

#[derive(Args, Debug)]
struct Client {
    /// What the files are called; the client's name, say
    name: String,
    #[command(flatten)]
    issue: Issue,
}

#[derive(Args, Debug)]
struct Issue {
    #[command(flatten)]
    place: Place,
    /// Where to write the pair; where the authority is if it is not given
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// How many days it is valid
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

#[derive(Args, Debug)]
struct Place {
    /// Where the authority is
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = "brickyard-certs",
        env = "BRICKYARD_CERTS"
    )]
    dir: PathBuf,
}

/// Two files of a name.
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn of(dir: &Path, name: &str) -> Self {
        Self {
            certificate: dir.join(format!("{name}.crt")),
            key: dir.join(format!("{name}.key")),
        }
    }

    /// Writes both, or neither.
    fn write(&self, issued: &Issued) -> anyhow::Result<()> {
        if self.certificate.exists() {
            bail!(taken(&self.certificate));
        }
        write_new(&self.key, &issued.key, 0o600)?;
        if let Err(error) = write_new(&self.certificate, &issued.certificate, 0o644) {
            // It was made just now, and nobody knows it.
            drop(std::fs::remove_file(&self.key));
            return Err(error);
        }
        println!("{}\n{}", self.certificate.display(), self.key.display());
        Ok(())
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Init(init) => make_authority(init)?,
        Command::Node(node) => issue(&node.issue, &node.name, CertificateRole::Node, &node.hosts)?,
        Command::Client(client) => {
            issue(&client.issue, &client.name, CertificateRole::Client, &[])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make_authority(init: &Init) -> anyhow::Result<()> {
    let dir = &init.place.dir;
    make_directory(dir)?;
    // Two authorities may be believed at a time, as while one is replaced: their names tell them apart.
    let made = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let name = format!(
        "Brickyard cluster authority {}",
        made.unwrap_or_default().as_nanos()
    );
    let (_, issued) = Authority::new(&name, DAY * init.days)?;
    Pair::of(dir, "ca").write(&issued)
}

fn issue(issue: &Issue, name: &str, role: CertificateRole, hosts: &[String]) -> anyhow::Result<()> {
    check_name(name)?;
    let kept = Pair::of(&issue.place.dir, "ca");
    let authority = Authority::from_pem(&read(&kept.certificate)?, &read(&kept.key)?);
    let authority = authority.with_context(|| {
        format!(
            "{} and {} are not an authority's certificate and key",
            kept.certificate.display(),
            kept.key.display()
        )
    })?;
    let issued = authority.issue(&CertificateRequest {
        name,
        role,
        hosts,
        validity: DAY * issue.days,
    })?;
    let dir = issue.out.as_ref().unwrap_or(&issue.place.dir);
    make_directory(dir)?;
    Pair::of(dir, name).write(&issued)
}

/// A name becomes a file's.
fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.starts_with('.') || name == "ca" || !name.bytes().all(is_plain) {
        bail!(
            "{name:?} cannot be a file's name here: use letters, digits, dashes, dots and underscores, and not \"ca\""
        );
    }
    Ok(())
}

fn make_directory(dir: &Path) -> anyhow::Result<()> {
    let made = std::fs::create_dir_all(dir);
    made.with_context(|| format!("cannot make the directory {}", dir.display()))
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read {}: make an authority with `brickyard cert init`, or say with --dir where it is",
            path.display()
        )
    })
}

fn write_new(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => anyhow::anyhow!(taken(path)),
        _ => anyhow::Error::new(error).context(format!("cannot write {}", path.display())),
    })?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn taken(path: &Path) -> String {
    format!(
        "{} is there and is not written over: move it away, or choose another name or directory",
        path.display()
    )
}
