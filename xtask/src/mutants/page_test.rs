use super::*;
use crate::planted::choice::Form;

fn mutant(krate: &str, name: &str) -> Mutant {
    Mutant {
        name: name.to_owned(),
        file: format!("crates/{krate}/src/a.rs"),
        function: "f".to_owned(),
        body: 0,
        line: 7,
        range: 0..1,
        before: "a ||\n    b".to_owned(),
        after: "a && b".to_owned(),
        form: Form::Expression,
    }
}

const PAGE: &str = "# Mutants
| Crate | Sample | Tried | Caught by its own tests | By others | By hanging | Survived | of these equivalent | Noticed |
|---|---|---|---|---|---|---|---|---|
| brick | `--own` of 99 | 9 | 9 | 0 | 0 | 0 | 0 | 100.0 % |
| store | `--own` of 50 | 1 | 1 | 0 | 0 | 0 | 0 | 100.0 % |

| Where | Change | Why |
|---|---|---|
| `brick/a.rs:1` `x` | `1` becomes `2` | open |
| `store/a.rs:1` `x` | `1` becomes `2` | open |

The end.
";

#[test]
fn page_has_new_rows_of_the_crates_that_were_tried() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mutants: Vec<Mutant> = names.iter().map(|it| mutant("store", it)).collect();
    let outcomes = [
        Outcome::LeftOut,
        Outcome::Caught("store".to_owned()),
        Outcome::Caught("sim".to_owned()),
        Outcome::TimedOut("store".to_owned()),
        Outcome::Survived,
        Outcome::Survived,
    ];
    let reasons = BTreeMap::from([("f".to_owned(), "no matter".to_owned())]);
    let samples = BTreeMap::from([("store", "`--sample 6` of 50".to_owned())]);
    let report = Report::of(&mutants, &outcomes, &reasons, &samples);
    let page = report.update(PAGE);
    let expected = PAGE
        .replace(
            "| store | `--own` of 50 | 1 | 1 | 0 | 0 | 0 | 0 | 100.0 % |",
            "| store | `--sample 6` of 50 | 5 | 1 | 1 | 1 | 2 | 1 | 75.0 % |",
        )
        .replace(
            "| `store/a.rs:1` `x` | `1` becomes `2` | open |",
            "| `store/a.rs:7` `e` | `a \\|\\| b` becomes `a && b` | open |
| `store/a.rs:7` `f` | `a \\|\\| b` becomes `a && b` | no matter |",
        );
    assert_eq!(page, expected);
    assert_eq!(report.update(&page), page);
}
