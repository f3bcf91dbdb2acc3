//! Jedis, and real programs of Java.

use crate::kill::{
    sees_all_keys_through_a_kill, survives_a_kill, survives_a_kill_under_tls_as_a_user,
};
use crate::programs::do_what_the_page_says;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::run;
use brickyard_e2e::stock::{self, Language};
use std::process::Command;

fn workload() -> Option<Command> {
    let client = Language::Java;
    let fetched = client.fetched()?;
    // `java` runs a source file if a compiler is installed with it.
    stock::runtime("javac", client)?;
    let java = stock::runtime("java", client)?;
    let mut workload = Command::new(java);
    workload
        .arg("-classpath")
        .arg(fetched.join("jars/*"))
        .arg(client.sources().join("Workload.java"));
    Some(workload)
}

#[test]
fn jedis_survives_a_node_kill() {
    if let Some(workload) = workload() {
        survives_a_kill(workload);
    }
}

#[test]
fn jedis_survives_a_node_kill_under_tls_as_a_user() {
    if let Some(workload) = workload() {
        survives_a_kill_under_tls_as_a_user(workload);
    }
}

#[test]
fn jedis_sees_all_keys_through_a_node_kill() {
    if let Some(mut workload) = workload() {
        workload.arg("keyspace");
        sees_all_keys_through_a_kill(workload);
    }
}

/// The programs, compiled into a folder: they are several files, which `java` does not run from their sources.
#[test]
fn programs_of_java_do_what_the_page_says() {
    let client = Language::Java;
    let (Some(fetched), Some(java), Some(javac)) = (
        client.fetched(),
        stock::runtime("java", client),
        stock::runtime("javac", client),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let sources = std::fs::read_dir(client.sources().join("programs")).unwrap();
    let mut compile = Command::new(javac);
    compile
        .arg("-classpath")
        .arg(fetched.join("jars/*"))
        .arg("-d")
        .arg(folder.path())
        .args(sources.map(|it| it.unwrap().path()));
    let compiled = run(&mut compile, b"", 2 * PATIENCE).unwrap();
    assert!(compiled.status.success(), "{}", compiled.text());
    let classes = [folder.path(), &fetched.join("jars/*")];
    let mut programs = Command::new(java);
    programs
        .arg("-classpath")
        .arg(std::env::join_paths(classes).unwrap())
        .arg("Programs");
    do_what_the_page_says("Java", programs);
}
