use super::{Operation, RequestWriter, Workload};
use crate::{
    keys::{Distribution, KeySpace},
    reply::Protocol,
};

fn workload() -> Workload {
    Workload {
        set_share: 1.0,
        keys: KeySpace {
            count: 100,
            bytes: 16,
            distribution: Distribution::Sequential,
        },
        value_bytes_min: 5,
        value_bytes_max: 5,
        expire_ms: None,
    }
}

fn write(workload: &Workload, protocol: Protocol) -> String {
    let mut out = Vec::new();
    RequestWriter::new(workload, protocol, 1, 0, 1).write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn requests_are_valid_resp() {
    let set = write(&workload(), Protocol::Resp);
    assert!(
        set.starts_with("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000000\r\n$5\r\n"),
        "{set}"
    );
    assert_eq!(set.len(), set.find("$5\r\n").unwrap() + 4 + 5 + 2);
    let get = write(
        &Workload {
            set_share: 0.0,
            ..workload()
        },
        Protocol::Resp,
    );
    assert_eq!(get, "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n");
    let expiring = write(
        &Workload {
            expire_ms: Some(1500),
            ..workload()
        },
        Protocol::Resp,
    );
    assert!(expiring.starts_with("*5\r\n"), "{expiring}");
    assert!(
        expiring.ends_with("\r\n$2\r\nPX\r\n$4\r\n1500\r\n"),
        "{expiring}"
    );
}

#[test]
fn requests_are_valid_memcached() {
    let set = write(&workload(), Protocol::Memcached);
    assert!(set.starts_with("set key:000000000000 0 0 5\r\n"), "{set}");
    assert_eq!(set.len(), "set key:000000000000 0 0 5\r\n".len() + 7);
    let get = write(
        &Workload {
            set_share: 0.0,
            ..workload()
        },
        Protocol::Memcached,
    );
    assert_eq!(get, "get key:000000000000\r\n");
}

#[test]
fn the_mix_has_the_asked_share_of_writes() {
    let mixed = Workload {
        set_share: 0.2,
        ..workload()
    };
    let mut writer = RequestWriter::new(&mixed, Protocol::Resp, 1, 0, 1);
    let mut out = Vec::new();
    let sets = (0..10_000)
        .filter(|_| {
            out.clear();
            writer.write(&mut out) == Operation::Set
        })
        .count();
    assert!((1_850..2_150).contains(&sets), "{sets}");
}

#[test]
fn value_lengths_stay_between_their_bounds() {
    let ranged = Workload {
        value_bytes_min: 3,
        value_bytes_max: 12,
        ..workload()
    };
    let mut writer = RequestWriter::new(&ranged, Protocol::Memcached, 1, 0, 1);
    for _ in 0..1000 {
        let mut out = Vec::new();
        writer.write(&mut out);
        let text = String::from_utf8(out).unwrap();
        let (line, value) = text.split_once("\r\n").unwrap();
        let len: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((3..=12).contains(&len));
        assert_eq!(value.len(), len + 2);
    }
}

#[test]
fn nonsense_is_refused_with_advice() {
    let message = Workload {
        set_share: 1.5,
        ..workload()
    }
    .validate()
    .unwrap_err()
    .to_string();
    assert!(message.contains("from 0 to 1"), "{message}");
    assert!(
        Workload {
            value_bytes_min: 9,
            ..workload()
        }
        .validate()
        .is_err()
    );
}
