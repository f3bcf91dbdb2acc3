use super::*;

#[test]
fn what_is_shown_is_read_back() {
    let all = [
        (Placement::Even, "even"),
        (Placement::Ring { points: 1 }, "ring"),
        (Placement::Ring { points: 2 }, "ring:2"),
        (
            Placement::Ring {
                points: RING_POINTS_MAX,
            },
            "ring:1000",
        ),
    ];
    for (placement, word) in all {
        assert_eq!(placement.to_string(), word);
        assert_eq!(word.parse(), Ok(placement));
        assert_eq!(word.to_uppercase().parse(), Ok(placement));
    }
    assert_eq!("ring:1".parse(), Ok(Placement::Ring { points: 1 }));
}

#[test]
fn other_words_are_refused_with_those_that_there_are() {
    for word in [
        "",
        "odd",
        "ring:",
        "ring:0",
        "ring:1001",
        "ring:-1",
        "ring:70000",
    ] {
        let error = word.parse::<Placement>().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "PLACEMENT is '{word}'; use one of even, ring, ring:2 to ring:1000 (points of a brick)"
            )
        );
    }
}
