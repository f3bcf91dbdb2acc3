use super::{Operation, State};

#[test]
fn operations_do_to_a_state_what_their_commands_do() {
    let set = |value: &str, expiry| -> State { Some((value.as_bytes().to_vec(), expiry)) };
    let cases = [
        (None, Operation::Set(b"a".to_vec()), set("a", None)),
        (
            set("b", Some(9)),
            Operation::Set(b"a".to_vec()),
            set("a", None),
        ),
        (
            set("b", Some(9)),
            Operation::Append(b"a".to_vec()),
            set("ba", Some(9)),
        ),
        (None, Operation::Append(b"a".to_vec()), set("a", None)),
        (
            set("4", Some(9)),
            Operation::Increment(3),
            set("7", Some(9)),
        ),
        (None, Operation::Increment(3), set("3", None)),
        (set("b", None), Operation::ExpireAt(7), set("b", Some(7))),
        (set("b", None), Operation::ExpireAt(0), None),
        (None, Operation::ExpireAt(7), None),
        (
            set("b", None),
            Operation::SetUntil(b"c".to_vec(), 7),
            set("c", Some(7)),
        ),
        (set("b", None), Operation::Delete, None),
    ];
    for (before, operation, after) in cases {
        assert_eq!(
            operation.apply(&before),
            after,
            "{operation:?} on {before:?}"
        );
    }
}
