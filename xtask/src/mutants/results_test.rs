use super::*;
use crate::planted::choice::Form;
use std::env;

fn mutant(name: &str, body: u64) -> Mutant {
    Mutant {
        name: name.to_owned(),
        file: "crates/store/src/a.rs".to_owned(),
        function: "f".to_owned(),
        body,
        line: 7,
        range: 0..1,
        before: "a".to_owned(),
        after: "b".to_owned(),
        form: Form::Expression,
    }
}

fn passed(names: &[&str]) -> Known {
    Known::Passed(names.iter().map(|it| (*it).to_owned()).collect())
}

#[test]
fn what_was_noted_is_known_in_the_next_run() {
    let target = env::temp_dir().join(format!("brickyard-results-{}", std::process::id()));
    let results = Results::open(&target).expect("a file");
    let (one, two, three) = (mutant("1", 1), mutant("2", 2), mutant("3", 3));
    for (mutant, known) in [
        (&one, passed(&["store"])),
        (&one, Known::Caught("sim".to_owned())),
        (&two, passed(&["store"])),
        (&three, Known::LeftOut),
    ] {
        results.note(mutant, &known).expect("a line");
    }
    let file = target.join(Results::PATH);
    let mut text = fs::read_to_string(&file).expect("a text");
    text += "3 3 caught st";
    fs::write(&file, text).expect("a file");

    let mut results = Results::open(&target).expect("a file");
    fs::remove_dir_all(&target).expect("a folder");
    let caught = Outcome::Caught("sim".to_owned());
    assert_eq!(results.outcome(&one, &["store", "sim"]), Some(caught));
    assert_eq!(results.outcome(&two, &["store"]), Some(Outcome::Survived));
    assert_eq!(results.outcome(&two, &["store", "sim"]), None);
    assert_eq!(
        results.passed(&two).into_iter().collect::<Vec<_>>(),
        ["store"]
    );
    assert_eq!(results.outcome(&three, &[]), Some(Outcome::LeftOut));
    // The function is another one by now.
    assert_eq!(results.outcome(&mutant("1", 9), &["store"]), None);

    results.forget_survivors();
    assert_eq!(results.outcome(&two, &["store"]), None);
    assert!(results.of(&one).is_some());
}
