use super::Template;
use crate::random::Random;
use std::collections::BTreeSet;

fn instances(text: &'static str) -> BTreeSet<String> {
    let template = Template::parse(text);
    let mut random = Random::new(1);
    (0..500)
        .map(|_| {
            let mut words = Vec::new();
            template.expand(&mut random, &mut |_, word| words.push(word));
            words.join(" ")
        })
        .collect()
}

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn choices_and_options_give_each_alternative() {
    assert_eq!(
        instances("A [ B ] ( c | D e )"),
        set(&["A c", "A D e", "A B c", "A B D e"])
    );
    assert_eq!(instances("A [ B | C ]"), set(&["A", "A B", "A C"]));
    assert_eq!(instances("( A [ B ] | C )"), set(&["A", "A B", "C"]));
}

#[test]
fn repetitions_give_one_to_four() {
    assert_eq!(instances("k+"), set(&["k", "k k", "k k k", "k k k k"]));
    assert_eq!(instances("( k v )+").len(), 4);
}
