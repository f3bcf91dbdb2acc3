use super::*;

fn spans(lens: &[(u32, u32)]) -> Vec<Span> {
    let span = |&(start, len)| Span { start, len };
    lens.iter().map(span).collect()
}

#[test]
fn arguments_are_slices_of_the_input() {
    let spans = spans(&[(0, 3), (4, 0), (5, 2)]);
    let args = Args::new(b"get kv", &spans[..2]);
    assert_eq!(args.len(), 2);
    assert_eq!(
        (args.at(0), args.get(1), args.get(2)),
        (&b"get"[..], Some(&b""[..]), None)
    );
}

#[test]
fn owned_copy_has_the_same_arguments() {
    let spans = spans(&[(0, 3), (4, 1), (3, 0)]);
    let args = Args::new(b"set key", &spans);
    let owned = args.to_owned();
    let copied: Vec<&[u8]> = owned.as_args().from(0).collect();
    assert_eq!(copied, [&b"set"[..], b"k", b""]);
    assert!(owned.memory_bytes() >= 4);
}

#[test]
fn skipped_arguments_are_a_request_of_their_own() {
    let owned: OwnedArgs = ["command", "getkeys", "get", "k"].iter().collect();
    let rest = owned.as_args().skip(2);
    assert_eq!((rest.len(), rest.at(0)), (2, &b"get"[..]));
    assert!(owned.as_args().skip(9).is_empty());
    assert_eq!(rest.from(7).len(), 0);
}
