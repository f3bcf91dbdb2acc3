use super::{by_words, list};

#[test]
fn numbers_rise_and_every_experiment_says_all_that_the_page_tells() {
    assert!(
        list()
            .windows(2)
            .all(|pair| pair[0].number < pair[1].number)
    );
    for it in list() {
        let texts = [
            it.title,
            it.question,
            it.original.place,
            it.original.setup,
            it.original.found,
            it.scaled,
            it.shape,
        ];
        for text in texts {
            assert!(text.len() > 3, "{}: '{text}' says nothing", it.name());
            assert!(
                !text.contains("  "),
                "{}: '{text}' has two spaces",
                it.name()
            );
        }
        assert!(it.minutes > 0.0, "{} has no share of the time", it.name());
    }
}

#[test]
fn an_hour_is_enough_for_all() {
    let minutes: f64 = list().iter().map(|it| it.minutes).sum();
    assert!(
        minutes <= 56.0,
        "{minutes} minutes, besides starting and filling"
    );
}

#[test]
fn experiments_are_found_by_either_name_once_each_and_in_order() {
    let words = ["e8", "E1", "8"].map(str::to_owned);
    let found: Vec<u8> = by_words(&words)
        .unwrap()
        .iter()
        .map(|it| it.number)
        .collect();
    assert_eq!(found, [1, 8]);
    assert_eq!(by_words(&[]).unwrap().len(), list().len());
    let error = by_words(&["E99".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("E99") && error.contains("list"), "{error}");
}

#[test]
fn nothing_measured_is_judged_without_a_panic_and_nothing_holds() {
    for it in list() {
        let judgement = (it.judge)(&crate::data::Data::default());
        assert!(!judgement.holds(), "{} holds of nothing", it.name());
    }
}
