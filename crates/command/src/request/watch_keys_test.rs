use super::*;
use crate::args::OwnedArgs;

fn parsed(text: &str, check: impl FnOnce(Result<WatchKeysArgs<'_>, ErrorReply>)) {
    let args: OwnedArgs = text.split(' ').collect();
    check(WatchKeysArgs::parse(args.as_args()));
}

#[test]
fn all_of_it_is_read_in_any_case_and_order() {
    parsed("watchkeys PREFIX user: from NOW block 0 COUNT 7", |it| {
        let it = it.unwrap();
        assert_eq!(it.watched, Watched::Prefix(b"user:"));
        assert_eq!((it.from, it.count, it.block_ms), (None, 7, Some(0)));
    });
    parsed("WATCHKEYS all FROM abc", |it| {
        let it = it.unwrap();
        assert_eq!((it.watched, it.from), (Watched::All, Some(&b"abc"[..])));
        assert_eq!((it.count, it.block_ms), (COUNT_DEFAULT, None));
    });
    parsed("WATCHKEYS KEY now FROM now", |it| {
        let it = it.unwrap();
        assert_eq!((it.watched, it.from), (Watched::Key(b"now"), None));
    });
}

#[test]
fn what_is_wrong_is_said() {
    for (text, expected) in [
        ("WATCHKEYS some FROM NOW", "say whose changes"),
        ("WATCHKEYS ALL NOW x", "say from where on"),
        ("WATCHKEYS ALL FROM NOW COUNT 0", "COUNT is how many"),
        ("WATCHKEYS ALL FROM NOW BLOCK -1", "BLOCK is a time"),
        ("WATCHKEYS ALL FROM NOW BLOCK", "syntax"),
        ("WATCHKEYS KEY k FROM", "syntax"),
        ("WATCHKEYS ALL FROM NOW HOW long", "syntax"),
    ] {
        parsed(text, |it| {
            let error = it.unwrap_err();
            let error = String::from_utf8_lossy(error.as_bytes()).into_owned();
            assert!(error.contains(expected), "{text}: {error}");
        });
    }
}

#[test]
fn a_client_does_not_ask_for_a_share() {
    let text = "WATCHKEYS ALL FROM NOW SHARE 10 2 3 4 5";
    parsed(text, |it| assert!(it.is_err()));
    let args: OwnedArgs = text.split(' ').collect();
    let share = WatchKeysArgs::parse_share(args.as_args()).unwrap().share;
    let expected = WatchShare {
        bytes: 10,
        client: 2,
        round: 3,
        node: 4,
        brick: 5,
    };
    assert_eq!(share, Some(expected));
}

#[test]
fn whose_changes_are_told() {
    assert!(Watched::All.has(b"") && Watched::Prefix(b"").has(b"k"));
    assert!(Watched::Prefix(b"ab").has(b"abc") && !Watched::Prefix(b"ab").has(b"a"));
    assert!(Watched::Key(b"k").has(b"k") && !Watched::Key(b"k").has(b"kk"));
}
