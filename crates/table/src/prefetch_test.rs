use super::*;

/// Under Miri this shows that no address is made up: see `docs/fuzzing.md`.
#[test]
fn any_place_may_be_asked_for() {
    for len in [0, 1, 63, 64, 65, 4096] {
        let bytes = vec![7_u8; len];
        for at in (0..len + 130).chain([usize::MAX]) {
            prefetch(&bytes, at);
        }
        assert!(bytes.iter().all(|it| *it == 7));
    }
}
