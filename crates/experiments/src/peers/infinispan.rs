//! Infinispan, embedded in a small program of Java.
//!
//! In:  the jars that Maven has fetched, a Java compiler. Out: keys of each node, throughput.
//!
//! The program and what Maven has to fetch are in `java/`, and in this program: nothing but a directory is needed.

use crate::run::Run;
use anyhow::{Context as _, bail};
use brickyard_bench::installed;
use brickyard_bench::process::pinned_to;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("../../java/Grid.java");
const POM: &str = include_str!("../../java/pom.xml");
const REMEDY: &str = "apt-get install default-jdk-headless maven, and run again with --fetch, which has Maven fetch its jars";

/// The compiled program.
#[derive(Debug)]
pub(crate) struct Grid {
    class_path: String,
}

/// Has Maven fetch the jars into a directory, unless they are there.
pub(crate) fn fetch(dir: &Path) -> anyhow::Result<()> {
    let jars = dir.join("jars");
    if core_jar(&jars).is_some() {
        return Ok(());
    }
    let maven = installed("mvn").context("there is no mvn; apt-get install maven")?;
    fs::create_dir_all(dir)?;
    let pom = dir.join("pom.xml");
    fs::write(&pom, POM)?;
    let output = Command::new(maven)
        .args(["--quiet", "--batch-mode", "--file"])
        .arg(&pom)
        .arg("dependency:copy-dependencies")
        .arg(format!("-DoutputDirectory={}", jars.display()))
        .arg("-DincludeScope=runtime")
        .output()
        .context("cannot run mvn")?;
    if !output.status.success() {
        bail!("mvn: {}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

/// The jar that names the version.
fn core_jar(jars: &Path) -> Option<String> {
    let names = fs::read_dir(jars).ok()?.flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .find(|name| name.starts_with("infinispan-core-"))
}

impl Grid {
    /// Compiles it, if the jars and a compiler are here; otherwise it is missed.
    pub(crate) fn find(run: &Run<'_>) -> anyhow::Result<Option<Self>> {
        let jars = run.java.join("jars");
        let (Some(jar), Some(compiler), Some(_)) =
            (core_jar(&jars), installed("javac"), installed("java"))
        else {
            run.miss("Infinispan", REMEDY);
            return Ok(None);
        };
        let version = jar.trim_start_matches("infinispan-core-");
        run.meet(format!("Infinispan {}", version.trim_end_matches(".jar")));
        let dir = run.dir.join("grid");
        fs::create_dir_all(&dir)?;
        let source = dir.join("Grid.java");
        fs::write(&source, SOURCE)?;
        let all_jars = format!("{}/*", jars.display());
        let output = Command::new(compiler)
            .args(["-nowarn", "-cp", &all_jars, "-d"])
            .arg(&dir)
            .arg(&source)
            .output()
            .context("cannot run javac")?;
        if !output.status.success() {
            bail!("javac: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Some(Self {
            class_path: format!("{}:{all_jars}", dir.display()),
        }))
    }

    fn run(&self, words: &[String]) -> anyhow::Result<String> {
        let java: PathBuf = installed("java").context("there is no java")?;
        // Its nodes and its clients are one process: it has all cores.
        let output = pinned_to(None, || {
            Command::new(java)
                .args([
                    "-Djava.net.preferIPv4Stack=true",
                    "-Djgroups.bind.address=127.0.0.1",
                ])
                .args(["-cp", &self.class_path, "Grid"])
                .args(words)
                .stdin(Stdio::null())
                .output()
        })?;
        let output = output.context("cannot run java")?;
        if !output.status.success() {
            bail!("Infinispan: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Keys of each node, for each of the prefixes: the node ids are drawn anew each time, as at each start.
    pub(crate) fn keys(
        &self,
        nodes: usize,
        each: usize,
        prefixes: &[&str],
    ) -> anyhow::Result<Vec<Vec<u64>>> {
        let mut words = vec!["keys".to_owned(), nodes.to_string(), each.to_string()];
        words.extend(prefixes.iter().map(|it| (*it).to_owned()));
        let said = self.run(&words)?;
        let counts = |line: &str| {
            let figures = line.strip_prefix("counts ")?.split(' ');
            figures
                .map(|it| it.parse().ok())
                .collect::<Option<Vec<u64>>>()
        };
        let found: Vec<Vec<u64>> = said.lines().filter_map(counts).collect();
        if found.len() != prefixes.len() || found.iter().any(|it| it.len() != nodes) {
            bail!("Infinispan's program said something else: {said}");
        }
        Ok(found)
    }

    /// Operations a second of `get` and of `put` with clients inside the nodes, and microseconds of processor for each.
    pub(crate) fn load(
        &self,
        nodes: usize,
        threads: usize,
        seconds: f64,
        value_bytes: usize,
    ) -> anyhow::Result<Vec<(String, f64, f64)>> {
        let mut words = vec!["load".to_owned()];
        words.extend([nodes.to_string(), threads.to_string()]);
        words.extend([seconds.to_string(), value_bytes.to_string()]);
        let said = self.run(&words)?;
        let rate = |line: &str| {
            let mut words = line.strip_prefix("rate ")?.split(' ');
            let name = words.next()?.to_owned();
            let mut figure = || words.next()?.parse::<f64>().ok();
            Some((name, figure()?, figure()?))
        };
        let found: Vec<_> = said.lines().filter_map(rate).collect();
        if found.len() != 2 {
            bail!("Infinispan's program said something else: {said}");
        }
        Ok(found)
    }
}
