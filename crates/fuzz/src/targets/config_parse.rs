//! Any text as a configuration file: no panic, and what is accepted prints to a file that reads back
//! the same.

use brickyard_server::config::{Config, Loaded, Origin, Sources, UserEntry, print};
use std::path::PathBuf;
use std::sync::LazyLock;

/// One for each process; a file, since that is what the reader takes.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("brickyard-fuzz-{}.toml", std::process::id()))
});

/// See the module.
pub(super) fn run(text: &[u8]) {
    let Some(loaded) = load(text) else {
        return;
    };
    let printed = print(&loaded);
    let again = load(printed.as_bytes());
    let again = again.unwrap_or_else(|| panic!("what was printed is refused:\n{printed}"));
    assert_eq!(values(again.config), values(loaded.config), "{printed}");
}

fn load(text: &[u8]) -> Option<Loaded> {
    std::fs::write(&*FILE, text).expect("the temporary directory is writable");
    let sources = Sources {
        file: Some(FILE.clone()),
        ..Sources::default()
    };
    let loaded = Loaded::from_sources(&sources);
    // Nothing is left behind in the temporary directory.
    drop(std::fs::remove_file(&*FILE));
    loaded
        // Every problem has its sentence.
        .inspect_err(|problems| drop(problems.to_string()))
        .ok()
}

/// Without the lines on which users stand.
fn values(mut config: Config) -> Config {
    for user in &mut config.users {
        *user = UserEntry {
            origin: Origin::Default,
            ..user.clone()
        };
    }
    config
}

/// Files with most settings in them.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = [
        "",
        "port = 7000\nbricks = 2\ndata_dir = \"data\"\nlog_level = \"info\"\n",
        "join = [\"a:1\", \"[::1]:2\"]\nlease = \"1.5s\"\nmaxmemory = \"1gb\"\n",
        "[[users]]\nname = \"ann\"\npassword = \"x\"\nrights = [\"read\"]\n",
        "port = -1\nunknown = {a = [1, 2.5, \"\\u00e9\"]}\n",
    ];
    let mut seeds: Vec<Vec<u8>> = files.map(|file| file.as_bytes().to_vec()).into();
    if let Some(loaded) = load(b"") {
        seeds.push(print(&loaded).into_bytes());
    }
    seeds
}
