use super::{Part, State, render};
use crate::all::list;
use crate::figure::{Axis, Figure, Look, exact};
use crate::judgement::Judgement;
use crate::plot::plot;
use crate::record::{Missing, Record};
use crate::table::Table;
use quick_xml::events::Event;

fn page() -> String {
    let mut judgement = Judgement::default();
    let mut figure = Figure::new("a & b", Axis::linear("x"), Axis::linear("y"));
    figure.curve("ours", Look::Measured, exact(&[(1.0, 2.0), (2.0, 3.0)]));
    judgement.within("slope < 2 & > 0", 1.0, 0.0..=2.0);
    judgement.remark("it is <so>");
    let mut table = Table::new("a \"table\"", &["a", "b"]);
    table.row(vec!["<1>".to_owned(), "2".to_owned()]);
    judgement.tables.push(table);
    let record = Record {
        missing: vec![Missing {
            name: "a peer".to_owned(),
            remedy: "apt-get install it".to_owned(),
        }],
        rounds: 3,
        ..Record::default()
    };
    let mut parts: Vec<Part> = list()
        .iter()
        .map(|experiment| Part {
            experiment,
            state: State::Absent,
        })
        .collect();
    parts[0].state = State::Measured {
        record: Box::new(record),
        svg: plot(&[figure]).unwrap(),
        judgement,
    };
    render(&parts)
}

#[test]
fn the_page_is_well_formed_and_names_every_experiment() {
    let page = page();
    let mut reader = quick_xml::Reader::from_str(&page);
    let mut depth = 0;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    for it in list() {
        assert!(
            page.contains(&format!("id=\"e{}\"", it.number)),
            "{}",
            it.name()
        );
    }
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = page();
    for word in ["src=", "url(", "@import", "<link", "<script", "<iframe"] {
        assert!(!page.contains(word), "it has '{word}'");
    }
    for (at, _) in page.match_indices("href=\"") {
        assert!(page[at..].starts_with("href=\"#"), "{}", &page[at..at + 40]);
    }
    for (at, _) in page.match_indices("http") {
        assert!(
            page[at..].starts_with("http://www.w3.org/"),
            "{}",
            &page[at..at + 40]
        );
    }
}

#[test]
fn what_was_measured_is_told_with_its_rules_and_what_was_missing() {
    let page = page();
    for words in [
        "slope &lt; 2 &amp; &gt; 0: <strong>1</strong>",
        "it is &lt;so&gt;",
        "<td>&lt;1&gt;</td>",
        "Without a peer: apt-get install it",
        "3 rounds",
        "Not measured yet: <code>brickyard experiments run E",
    ] {
        assert!(page.contains(words), "no '{words}'");
    }
}
