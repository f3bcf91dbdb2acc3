use super::*;

fn head() -> Head {
    Head {
        fields: 7,
        value: 1 << 40,
        parts: 3,
        bytes: 99,
        times: None,
    }
}

fn timed() -> Times {
    Times {
        fields: 4,
        first: UnixMillis(5),
        last: None,
        own: None,
        pruned: 2,
        kept: Some(UnixMillis(6)),
    }
}

#[test]
fn a_head_is_read_as_it_was_written() {
    let all = Times {
        fields: 7,
        last: Some(UnixMillis(9)),
        kept: None,
        ..timed()
    };
    let heads = [
        head(),
        Head {
            times: Some(timed()),
            ..head()
        },
        Head {
            times: Some(all),
            ..head()
        },
        Head {
            times: Some(Times {
                own: Some(None),
                ..all
            }),
            ..head()
        },
        Head {
            times: Some(Times {
                own: Some(Some(UnixMillis(77))),
                ..all
            }),
            ..head()
        },
    ];
    for head in heads {
        let bytes = head.encode();
        assert!(Head::may_have(bytes.len()));
        assert_eq!(Head::read(&bytes), Some(head));
        for len in 0..bytes.len() {
            let short = Head::read(&bytes[..len]);
            assert!(short.is_none(), "{len} bytes: {short:?}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Head::read(&longer), None);
    }
}

#[test]
fn what_cannot_be_a_head_is_none() {
    let unsound = [
        Head { parts: 0, ..head() },
        Head {
            parts: 15,
            ..head()
        },
        Head {
            bytes: 13,
            ..head()
        },
        Head {
            bytes: 1 << 40,
            ..head()
        },
    ];
    for head in unsound {
        assert_eq!(Head::read(&head.encode()), None, "{head:?}");
    }
    let unsound = [
        Times {
            fields: 0,
            ..timed()
        },
        Times {
            fields: 8,
            ..timed()
        },
        // When the last one expires is not known.
        Times {
            fields: 7,
            ..timed()
        },
        Times {
            pruned: 4,
            ..timed()
        },
        Times {
            own: Some(None),
            ..timed()
        },
    ];
    for times in unsound {
        let head = Head {
            times: Some(times),
            ..head()
        };
        assert_eq!(Head::read(&head.encode()), None, "{head:?}");
    }
    let many = Head {
        parts: TIMED_PARTS_MAX + 1,
        times: Some(timed()),
        ..head()
    };
    assert_eq!(Head::read(&many.encode()), None);
}

#[test]
fn the_key_goes_with_its_last_field() {
    let times = Times {
        fields: 7,
        last: Some(UnixMillis(900)),
        ..timed()
    };
    let head = Head {
        times: Some(times),
        ..head()
    };
    for own in [None, Some(UnixMillis(1_000))] {
        let (value, expires_at) = head.stored(own);
        assert_eq!(expires_at, Some(UnixMillis(900)));
        assert_eq!(Head::read(&value).unwrap().key_expiry(expires_at), own);
    }
    let (value, expires_at) = head.stored(Some(UnixMillis(800)));
    assert_eq!(expires_at, Some(UnixMillis(800)));
    assert_eq!(Head::read(&value), Some(head));
}
