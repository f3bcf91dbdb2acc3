use super::*;

fn stamp() -> Stamp {
    Stamp {
        node: NodeKey(*b"0123456789abcdefghij"),
        directory: DirectoryId(*b"ABCDEFGHIJKLMNOP"),
    }
}

#[test]
fn reads_back_what_it_wrote() {
    let text = stamp().encode();
    assert_eq!(
        text,
        "brickyard data directory\nformat 1\n\
         node 303132333435363738396162636465666768696a\n\
         directory 4142434445464748494a4b4c4d4e4f50\ncrc a551a500\n"
    );
    assert_eq!(Stamp::decode(&text), Ok(stamp()));
}

#[test]
fn newer_is_told_from_damaged() {
    let other = stamp().encode().replace("format 1", "format 2");
    assert_eq!(Stamp::decode(&other), Err(StampError::OtherFormat(2)));
    for (from, to) in [
        ("node 3", "node 4"),
        ("brickyard", "somebody"),
        ("crc", "crd"),
        ("\ncrc", "x\ncrc"),
    ] {
        let damaged = stamp().encode().replace(from, to);
        assert!(
            matches!(Stamp::decode(&damaged), Err(StampError::Damaged(_))),
            "{damaged}"
        );
    }
    assert!(Stamp::decode("").is_err());
}
