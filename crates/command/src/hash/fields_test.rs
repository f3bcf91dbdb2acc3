use super::*;

fn field<'a>(name: &'a str, value: &'a str, at: Option<u64>) -> Field<'a> {
    Field {
        name: name.as_bytes(),
        value: value.as_bytes(),
        expires_at: at.map(UnixMillis),
    }
}

fn written(own: Option<Option<u64>>, fields: &[Field<'_>]) -> Vec<u8> {
    write(own.map(|at| at.map(UnixMillis)), fields.iter())
}

#[test]
fn fields_read_back_as_written() {
    let long = "x".repeat(20_000);
    let cases: [&[Field<'_>]; 4] = [
        &[field("a", "1", None)],
        &[field("", "", None), field("b", &long, None)],
        &[field(&long, "v", Some(7)), field("b", "2", None)],
        &[field("a", "1", Some(9)), field("b", "2", Some(5))],
    ];
    for fields in cases {
        for own in [None, Some(None), Some(Some(77))] {
            let value = written(own, fields);
            let read = Fields::read(&value, Some(UnixMillis(3))).unwrap();
            assert_eq!(read.len(), fields.len());
            assert!(read.eq(fields.iter().copied()));
            let expected = own.unwrap_or(Some(3)).map(UnixMillis);
            assert_eq!(read.key_expires_at, expected);
            let first = fields.iter().filter_map(|it| it.expires_at).min();
            assert_eq!(first_of(&value), first);
            for it in fields {
                assert_eq!(read.find(it.name), Some(*it));
            }
            assert_eq!(read.find(b"nosuch"), None);
        }
    }
}

#[test]
fn a_field_is_there_up_to_its_time() {
    let value = written(None, &[field("a", "1", Some(9)), field("b", "2", None)]);
    let at = |now| {
        let fields = Fields::read(&value, None).unwrap();
        fields.hiding_due(UnixMillis(now))
    };
    assert_eq!((at(9).len(), at(10).len()), (2, 1));
    assert!(at(9).find(b"a").is_some() && at(10).find(b"a").is_none());
    assert!(at(10).find(b"b").is_some());
}

#[test]
fn one_field_is_set_where_it_stands_or_behind_the_others() {
    let all = [
        field("a", "1", None),
        field("b", "22", None),
        field("c", "", None),
    ];
    let value = written(None, &all);
    let long = "x".repeat(300);
    for (name, new) in [
        ("a", "9"),
        ("b", &*long),
        ("c", "3"),
        ("d", "4"),
        (&*long, "5"),
    ] {
        let fields = Fields::read(&value, None).unwrap();
        let set = fields.with_one(name.as_bytes(), |_| Ok(new)).unwrap();
        let (set, _, is_new) = set.unwrap();
        let mut expected = all.to_vec();
        match expected.iter_mut().find(|it| it.name == name.as_bytes()) {
            Some(field) => field.value = new.as_bytes(),
            None => expected.push(field(name, new, None)),
        }
        assert_eq!(set, written(None, &expected), "{name}");
        assert_eq!(is_new, expected.len() == 4);
    }
    let timed = written(None, &[field("a", "1", Some(5))]);
    let timed = Fields::read(&timed, None).unwrap();
    assert_eq!(timed.with_one(b"a", |_| Ok("2")), Ok(None));
}

#[test]
fn bytes_that_are_no_hash_are_refused_and_never_read_past() {
    let value = written(
        Some(Some(8)),
        &[field("name", "value", Some(9)), field("b", "2", None)],
    );
    for len in 0..value.len() {
        if let Ok(fields) = Fields::read(&value[..len], None) {
            assert!(fields.count() < 2, "{len} of {} bytes", value.len());
        }
    }
    for at in 0..value.len() {
        for bit in 0..8 {
            let mut flipped = value.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(fields) = Fields::read(&flipped, None) {
                // Whatever it says, it ends.
                assert!(fields.count() <= value.len());
            }
            let _ = (first_of(&flipped), encoding(&flipped));
        }
    }
    let endless = [&[1, 0, 1, 0, 0, 0][..], &[0xff; 12]].concat();
    assert_eq!(Fields::read(&endless, None).unwrap().count(), 0);
}

#[test]
fn encoding_follows_from_what_there_is() {
    let many: Vec<String> = (0..513).map(|number| number.to_string()).collect();
    let many: Vec<Field<'_>> = many.iter().map(|name| field(name, "v", None)).collect();
    let long = "x".repeat(65);
    for (fields, word) in [
        (&[field("a", "1", None)][..], "listpack"),
        (&[field("a", "1", Some(5))], "listpackex"),
        (&[field("a", &long, None)], "hashtable"),
        (&[field(&long, "1", None)], "hashtable"),
        (&many[..512], "listpack"),
        (&many, "hashtable"),
    ] {
        assert_eq!(encoding(&written(None, fields)), Ok(word));
    }
}
