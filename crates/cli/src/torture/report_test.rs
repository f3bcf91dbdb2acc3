use super::*;
use crate::torture::plan::Durability;
use brickyard_torture::CheckedHistory;

fn plan() -> Plan {
    Plan {
        time: Duration::from_secs(60),
        rounds: None,
        nodes: 3,
        bricks: 1,
        replicas: 2,
        durability: Durability::Log,
        kinds: vec![Kind::Kill, Kind::CutTo],
        seed: 9,
        report: "torture.html".into(),
        dir: None,
    }
}

fn round(kind: Kind, checked: Result<usize, &str>, wait_ms: u64) -> Round {
    Round {
        kind,
        node: Some(1),
        checked: checked
            .map(|operations| CheckedHistory {
                keys: 40,
                operations,
                unknown: 2,
                ways_max: 3,
            })
            .map_err(str::to_owned),
        write_wait: Duration::from_millis(wait_ms),
        read_wait: Duration::from_millis(wait_ms / 2),
        whole_after: Duration::from_millis(wait_ms * 2),
        began: Duration::from_secs(1),
        samples: vec![
            Sample {
                at: 0.5,
                reads: 10.0,
                writes: 20.0,
            };
            1000
        ],
        history: Vec::new(),
    }
}

#[test]
fn page_shows_the_worst_of_each_kind_and_how_to_repeat_it() {
    let result = CampaignResult {
        rounds: vec![
            round(Kind::Kill, Ok(1000), 300),
            round(Kind::Kill, Ok(500), 700),
            round(Kind::CutTo, Ok(100), 20),
        ],
        took: Duration::from_secs(50),
    };
    let page = page(&plan(), &result);
    let row = "<td>kill -9 of a node, away for two leases</td><td>2</td><td>1500</td><td>4</td><td>0</td>\
               <td>700 ms</td><td>350 ms</td><td>1400 ms</td>";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("Nothing was lost and nothing was stale: 3 failures, 1600 operations"));
    assert!(page.contains(
        "brickyard torture --seed 9 --rounds 3 --nodes 3 --bricks 1 --replicas 2 --durability log --only kill,cut-to"
    ));
    assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    let (samples, marks) = timeline(&result);
    assert!(samples.len() <= POINTS && marks.len() == 3);
}

#[test]
fn a_violation_is_the_first_thing_that_is_said() {
    let result = CampaignResult {
        rounds: vec![
            round(Kind::Kill, Ok(1000), 300),
            round(Kind::CutTo, Err("key <a>: nothing explains"), 20),
        ],
        took: Duration::from_secs(50),
    };
    assert!(!result.is_good());
    let page = page(&plan(), &result);
    assert!(page.contains("NOT LINEARIZABLE: round 1, cut, to the node, after 1 rounds"));
    assert!(page.contains("key &lt;a&gt;: nothing explains"));
    assert!(summary(&result).starts_with("NOT LINEARIZABLE"));
}
