//! Every target on its seeds, on some inputs made of them, and on each input that was ever found.

use brickyard_fuzz::{Until, all, drive, named, replay};
use std::fs;
use std::path::Path;

#[test]
fn targets_hold_on_their_seeds_and_some_more() {
    for target in all() {
        for seed in (target.seeds)() {
            let outcome = replay(target, &seed);
            assert_eq!(
                outcome,
                Ok(()),
                "{} on {}",
                target.name,
                seed.escape_ascii()
            );
        }
        assert!(!(target.seeds)().is_empty(), "{} has seeds", target.name);
        if let Err(failure) = drive(target, Until::Inputs(300), 1) {
            panic!("{}: {}", target.name, failure.what);
        }
    }
}

/// `found/TARGET/anything`: what is put there is run for ever after.
#[test]
fn what_was_found_is_mended() {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let mut count = 0;
    for folder in fs::read_dir(&found).expect("the folder of what was found") {
        let folder = folder.expect("an entry").path();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let target = named(&name).unwrap_or_else(|| panic!("no target is called {name}"));
        for file in fs::read_dir(&folder).expect("a folder") {
            let file = file.expect("an entry").path();
            let input = fs::read(&file).expect("an input");
            assert_eq!(replay(target, &input), Ok(()), "{}", file.display());
            count += 1;
        }
    }
    assert!(count > 0, "{} is empty", found.display());
}
