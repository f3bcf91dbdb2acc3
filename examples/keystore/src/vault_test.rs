use super::*;

/// The least that the library takes: these tests are about something else.
const CHEAP: Cost = Cost {
    memory_kib: 8,
    passes: 1,
};

fn vault() -> (Vault, OpenVault) {
    let vault = Vault::create("ann", "correct horse", CHEAP).expect("a vault");
    let open = vault.open("ann", "correct horse").expect("it opens");
    (vault, open)
}

#[test]
fn secret_comes_back_as_it_was() {
    let (vault, open) = vault();
    let place = ("ann", "ssh", 1);
    let sealed = open.seal(place, b"a private key").expect("sealed");
    assert!(!sealed.windows(7).any(|it| it == b"private"));
    let bytes = vault.bytes().expect("bytes");
    let again = Vault::read(&bytes).expect("the same vault");
    let again = again.open("ann", "correct horse").expect("it opens");
    assert_eq!(again.unseal(place, &sealed), Ok(b"a private key".to_vec()));
}

#[test]
fn same_secret_is_never_encrypted_alike() {
    let open = vault().1;
    let [one, two] = [0, 1].map(|_| open.seal(("ann", "a", 1), b"x").expect("sealed"));
    assert_ne!(one, two);
}

#[test]
fn other_passphrase_or_user_opens_nothing() {
    let (vault, _) = vault();
    for (user, passphrase) in [
        ("ann", "correct horsf"),
        ("ann", ""),
        ("bob", "correct horse"),
    ] {
        let refused = vault.open(user, passphrase).err();
        assert_eq!(refused, Some(Sealed::Passphrase), "{user}");
    }
}

#[test]
fn what_was_moved_or_changed_does_not_decrypt() {
    let open = vault().1;
    let sealed = open
        .seal(("ann", "ssh", 2), b"a private key")
        .expect("sealed");
    for place in [("bob", "ssh", 2), ("ann", "pgp", 2), ("ann", "ssh", 1)] {
        assert_eq!(
            open.unseal(place, &sealed),
            Err(Sealed::Damaged),
            "{place:?}"
        );
    }
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        let found = open.unseal(("ann", "ssh", 2), &changed);
        assert_eq!(found, Err(Sealed::Damaged), "byte {at}");
    }
    assert_eq!(
        open.unseal(("ann", "ssh", 2), b"short"),
        Err(Sealed::Damaged)
    );
}

#[test]
fn new_passphrase_opens_the_same_secrets() {
    let (old, open) = vault();
    let sealed = open
        .seal(("ann", "ssh", 1), b"a private key")
        .expect("sealed");
    let new = open.close("ann", "battery staple", CHEAP).expect("closed");
    assert!(new.open("ann", "correct horse").is_err());
    assert_ne!(old, new);
    let open = new.open("ann", "battery staple").expect("it opens");
    let found = open.unseal(("ann", "ssh", 1), &sealed);
    assert_eq!(found, Ok(b"a private key".to_vec()));
}
