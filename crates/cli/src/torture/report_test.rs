use super::*;
use crate::torture::plan::Durability;
use brickyard_torture::CheckedHistory;

fn plan() -> Plan {
    Plan {
        time: Some(Duration::from_secs(60)),
        rounds: None,
        nodes: 3,
        bricks: 1,
        replicas: 2,
        durability: Durability::Log,
        records: 0,
        kinds: vec![Failure::Kill, Failure::CutTo],
        seed: 9,
        patience: PATIENCE,
        report: "torture.html".into(),
        dir: None,
    }
}

fn longest(wait_ms: u64) -> Longest {
    let is_long = wait_ms >= 700;
    Longest {
        took: Duration::from_millis(wait_ms),
        begun: Duration::from_millis(7),
        failed: if is_long { 3 } else { 0 },
        told: "BUSY <brick>".to_owned(),
    }
}

fn round(kind: Failure, checked: Result<usize, &str>, wait_ms: u64) -> Round {
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
        write_wait: longest(wait_ms),
        read_wait: longest(wait_ms / 2),
        quiet_read_wait: longest(wait_ms / 10),
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
fn page_shows_median_and_worst_of_each_kind_and_how_to_repeat_it() {
    let result = CampaignResult {
        rounds: vec![
            round(Failure::Kill, Ok(1000), 300),
            round(Failure::Kill, Ok(500), 700),
            round(Failure::Kill, Ok(500), 500),
            round(Failure::CutTo, Ok(100), 20),
        ],
        took: Duration::from_secs(50),
    };
    let page = page(&plan(), &result);
    let row = "<td>kill -9 of a node, away for two leases</td><td>3</td><td>2000</td><td>6</td><td>0</td>\
               <td>500 / 700</td><td>250 / 350</td><td>50 / 70</td><td>1000 / 1400</td>";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("Nothing was lost and nothing was stale: 4 failures, 2100 operations"));
    assert!(page.contains(
        "brickyard torture --seed 9 --rounds 4 --nodes 3 --bricks 1 --replicas 2 --durability log --only kill,cut-to"
    ));
    assert!(page.contains("<td>700 ms from 7; 3 attempts failed, the last: BUSY &lt;brick&gt;</td><td>350 ms from 7</td><td>70 ms from 7</td>"));
    assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    let (samples, marks) = timeline(&result);
    assert!(samples.len() <= POINTS && marks.len() == 4);
}

#[test]
fn a_violation_is_the_first_thing_that_is_said() {
    let result = CampaignResult {
        rounds: vec![
            round(Failure::Kill, Ok(1000), 300),
            round(Failure::CutTo, Err("key <a>: nothing explains"), 20),
        ],
        took: Duration::from_secs(50),
    };
    assert!(!result.is_good());
    let page = page(&plan(), &result);
    assert!(page.contains("NOT LINEARIZABLE: round 1, cut, to the node, after 1 rounds"));
    assert!(page.contains("key &lt;a&gt;: nothing explains"));
    assert!(summary(&result).starts_with("NOT LINEARIZABLE"));
}
