use super::{Files, Finished, Settings, run};
use crate::all::by_words;
use crate::experiment::Experiment;
use crate::record::Record;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn settings(out: &Path) -> Settings {
    Settings {
        // It says some version of itself, which is all that is asked of it.
        program: std::env::current_exe().unwrap(),
        out: out.to_owned(),
        is_quick: true,
        budget: Duration::from_secs(60),
        again: false,
        is_fetching: false,
    }
}

fn chosen() -> Vec<&'static Experiment> {
    by_words(&["E10".to_owned()]).unwrap()
}

fn run_with(settings: &Settings) -> Finished {
    run(settings, &chosen(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn what_is_there_is_kept_and_measured_again_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    assert_eq!(run_with(&settings).measured.len(), 1);
    let second = run_with(&settings);
    assert_eq!(
        (second.measured.len(), second.kept),
        (0, vec!["E10".to_owned()])
    );
    let again = Settings {
        again: true,
        ..settings
    };
    assert_eq!(run_with(&again).measured.len(), 1);
}

#[test]
fn a_quick_run_does_not_count_where_a_real_one_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let quick = settings(dir.path());
    run_with(&quick);
    let real = Settings {
        is_quick: false,
        ..quick.clone()
    };
    assert_eq!(run_with(&real).measured.len(), 1);
    // But a quick one is content with it.
    assert_eq!(run_with(&quick).kept.len(), 1);
}

#[test]
fn without_its_data_or_its_record_an_experiment_is_not_done() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let files = Files::of(dir.path(), chosen()[0]);
    run_with(&settings);
    std::fs::write(&files.data, "rubbish\n").unwrap();
    assert_eq!(run_with(&settings).measured.len(), 1);
    std::fs::remove_file(&files.record).unwrap();
    assert_eq!(run_with(&settings).measured.len(), 1);
    assert!(Record::read(&files.record).unwrap().is_quick);
}

#[test]
fn an_interrupted_run_leaves_no_record_and_writes_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let finished = run(&settings, &chosen(), &AtomicBool::new(true)).unwrap();
    assert!(finished.is_interrupted && finished.measured.is_empty());
    assert!(!Files::of(dir.path(), chosen()[0]).record.exists());
    assert!(
        std::fs::read_to_string(finished.page)
            .unwrap()
            .contains("Not measured yet")
    );
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 1, "beside the page something is left");
}

#[test]
fn a_drawing_beside_the_page_has_its_colours() {
    let dir = tempfile::tempdir().unwrap();
    run_with(&settings(dir.path()));
    let svg = std::fs::read_to_string(Files::of(dir.path(), chosen()[0]).drawing).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("prefers-color-scheme: dark"));
}
