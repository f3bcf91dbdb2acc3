use super::*;

const ALLOWANCE: Duration = Duration::from_secs(1);

fn decided(failure: AttemptFailure, is_read: bool) -> Verdict {
    let nature = if is_read { Nature::Read } else { Nature::Plain };
    decide(failure, nature, 1, ALLOWANCE)
}

fn reply(line: &str) -> AttemptFailure {
    AttemptFailure::Reply(line.as_bytes().to_vec())
}

fn is_again(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Again { .. })
}

#[test]
fn what_was_promised_not_to_be_executed_is_sent_again() {
    for line in [
        "TRYAGAIN x",
        "CLUSTERDOWN x",
        "LOADING x",
        "NOREPLICAS x",
        "BUSY x",
        "LIMIT x",
        "ASK 1 a:1",
        "MOVED 1 a:1",
    ] {
        assert!(is_again(&decided(reply(line), true)), "{line}");
        assert!(is_again(&decided(reply(line), false)), "{line}");
    }
    assert!(is_again(&decided(
        AttemptFailure::NotSent("refused".into()),
        false
    )));
}

#[test]
fn what_time_does_not_mend_is_refused_at_once() {
    for line in [
        "OOM x",
        "CROSSSLOT x",
        "WRONGTYPE x",
        "ERR x",
        "NOPERM x",
        "DAMAGED x",
    ] {
        let text = line.to_owned();
        assert_eq!(
            decided(reply(line), false),
            Verdict::Fail(Error::Refused { text })
        );
    }
}

#[test]
fn full_disk_is_waited_for_as_long_as_others_need_to_take_over() {
    let after = |attempt| decide(reply("MISCONF x"), Nature::Plain, attempt, ALLOWANCE);
    assert!(is_again(&after(1)) && is_again(&after(FULL_DISK_ATTEMPTS - 1)));
    let text = "MISCONF x".to_owned();
    let refused = Verdict::Fail(Error::Refused { text });
    assert_eq!(after(FULL_DISK_ATTEMPTS), refused);
    // Half a second at least.
    let random = Random::new();
    let pauses: Duration = (1..FULL_DISK_ATTEMPTS).map(|it| pause(it, &random)).sum();
    assert!(pauses >= Duration::from_millis(300), "{pauses:?}");
}

#[test]
fn a_write_is_never_sent_again_once_its_fate_is_open() {
    for failure in [
        AttemptFailure::Lost("reset".into()),
        AttemptFailure::Late,
        reply("UNKNOWNRESULT x"),
    ] {
        let verdict = decided(failure, false);
        assert!(
            matches!(verdict, Verdict::Fail(Error::UnknownOutcome { .. })),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_write_with_an_id_is_sent_again_until_it_is_known_or_past_asking() {
    let named = |failure: AttemptFailure| decide(failure, Nature::Named, 1, ALLOWANCE);
    for failure in [
        AttemptFailure::Lost("reset".into()),
        AttemptFailure::Silent,
        reply("UNKNOWNRESULT a view changed"),
    ] {
        assert!(failure.is_open(Nature::Named));
        let verdict = named(failure);
        assert!(
            matches!(
                &verdict,
                Verdict::Again {
                    otherwise: Error::UnknownOutcome { .. },
                    ..
                }
            ),
            "{verdict:?}"
        );
    }
    for failure in [
        AttemptFailure::Late,
        reply("UNKNOWNRESULT executed: x"),
        reply("UNKNOWNRESULT forgotten: x"),
    ] {
        let verdict = named(failure);
        assert!(
            matches!(verdict, Verdict::Fail(Error::UnknownOutcome { .. })),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_read_is_sent_again_until_its_deadline() {
    assert!(is_again(&decided(
        AttemptFailure::Lost("reset".into()),
        true
    )));
    assert!(is_again(&decided(AttemptFailure::Silent, true)));
    let late = Verdict::Fail(Error::Timeout { after: ALLOWANCE });
    assert_eq!(decided(AttemptFailure::Late, true), late);
    assert_eq!(decided(AttemptFailure::LateUnsent, true), late);
}

#[test]
fn a_write_that_was_late_before_it_left_was_not_executed() {
    let verdict = decided(AttemptFailure::LateUnsent, false);
    assert!(matches!(verdict, Verdict::Fail(Error::Unreachable { .. })));
}

#[test]
fn moved_is_followed_at_once_but_not_in_circles() {
    let at = |host: &str| Again::At {
        slot: Slot(3999),
        host: host.to_owned(),
        port: 6381,
    };
    for (line, host) in [
        ("MOVED 3999 127.0.0.1:6381", "127.0.0.1"),
        ("MOVED 3999 :6381", ""),
        ("MOVED 3999 ::1:6381", "::1"),
        ("MOVED 3999 [::1]:6381", "::1"),
    ] {
        match decided(reply(line), false) {
            Verdict::Again { again, .. } => assert_eq!(again, at(host)),
            other => panic!("{line}: {other:?}"),
        }
    }
    let fifth = decide(reply("MOVED 3999 a:1"), Nature::Plain, 5, ALLOWANCE);
    let expected = Again::AfterPause { is_map_old: true };
    assert!(matches!(fifth, Verdict::Again { again, .. } if again == expected));
    assert_eq!(Again::address("", 7, "here"), "here:7");
}

#[test]
fn pauses_grow_differ_and_end() {
    let random = Random::new();
    for attempt in 1..40 {
        let pause = pause(attempt, &random);
        assert!(pause >= PAUSE_MIN / 2 && pause < PAUSE_MAX, "{pause:?}");
    }
    assert!(pause(20, &random) >= PAUSE_MAX / 2);
    let several: std::collections::BTreeSet<_> = (0..20).map(|_| pause(9, &random)).collect();
    assert!(several.len() > 10);
}
