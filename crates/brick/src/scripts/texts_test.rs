use super::*;
use brickyard_script::sha1_hex;

fn name(text: &str) -> ShaText {
    sha1_hex(text.as_bytes())
}

#[test]
fn a_text_is_known_by_its_sha1() {
    let mut texts = Texts::default();
    let added = texts.add(ScriptText::new(b"return 1"));
    assert_eq!(&added.sha, b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    assert_eq!(&*texts.find(&name("return 1")).unwrap().body, b"return 1");
    assert!(texts.find(&name("return 2")).is_none());
    texts.add(ScriptText::new(b"return 1"));
    assert_eq!(texts.len_and_bytes(), (1, 8));
}

#[test]
fn those_not_asked_for_go_first() {
    let mut texts = Texts::default();
    texts.add(ScriptText::new(b"kept"));
    for number in 0..SCRIPTS_MAX {
        if number % 100 == 0 {
            assert!(texts.find(&name("kept")).is_some());
        }
        texts.add(ScriptText::new(format!("return {number}").as_bytes()));
    }
    assert_eq!(texts.len_and_bytes().0, SCRIPTS_MAX);
    assert!(texts.find(&name("kept")).is_some());
    assert!(texts.find(&name("return 0")).is_none());
    assert!(texts.find(&name("return 9999")).is_some());
}

#[test]
fn their_bytes_are_bounded() {
    let mut texts = Texts::default();
    for letter in [b'a', b'b', b'c'] {
        texts.add(ScriptText::new(&vec![letter; BYTES_MAX / 2]));
    }
    assert_eq!(texts.len_and_bytes(), (2, BYTES_MAX / 2 * 2));
    // One that is longer is known alone.
    texts.add(ScriptText::new(&vec![b'd'; BYTES_MAX + 1]));
    assert_eq!(texts.len_and_bytes(), (1, BYTES_MAX + 1));
}
