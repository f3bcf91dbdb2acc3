use super::*;

/// FUNCTION DUMP of one library, by Redis 7.0.15.
const OF_REDIS: &[u8] = b"\xf5@A#!lua name=a\nredis.register_function('f',function() return 1 end)\n\x00\x17\x9d\xab\xc7\x87\xfc\x9c\xad";

/// And of none.
const OF_NONE: &[u8] = b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda";

fn dumped(texts: &[&[u8]]) -> Vec<u8> {
    dump_libraries(texts.iter().copied())
}

#[test]
fn what_redis_writes_is_read_and_written_alike() {
    let text = b"#!lua name=a\nredis.register_function('f',function() return 1 end)";
    assert_eq!(restore_libraries(OF_REDIS, 1_000), Ok(vec![text.to_vec()]));
    assert_eq!(dumped(&[text]), OF_REDIS);
    assert_eq!(restore_libraries(OF_NONE, 0), Ok(Vec::new()));
    assert_eq!(dumped(&[]), OF_NONE);
}

#[test]
fn libraries_come_back_as_they_went() {
    let long = vec![b'x'; 70_000];
    let texts: [&[u8]; 3] = [b"", &long, b"a\0b"];
    let restored = restore_libraries(&dumped(&texts), 70_003).unwrap();
    assert_eq!(restored, texts);
    let refused = restore_libraries(&dumped(&texts), 70_002);
    assert_eq!(refused, Err(LibrariesError::TooLong));
}

#[test]
fn what_is_no_payload_of_libraries_is_refused() {
    let value = crate::dump_string(b"v");
    assert_eq!(restore_libraries(&value, 10), Err(LibrariesError::Other));
    let cut = finish(OF_REDIS[..20].to_vec(), VERSION);
    assert_eq!(restore_libraries(&cut, 1_000), Err(LibrariesError::Format));
    let later = finish(OF_REDIS[..OF_REDIS.len() - 10].to_vec(), 79);
    assert_eq!(
        restore_libraries(&later, 1_000),
        Err(LibrariesError::VersionOrChecksum)
    );
    for at in 0..OF_REDIS.len() {
        let mut flipped = OF_REDIS.to_vec();
        flipped[at] ^= 1;
        assert!(restore_libraries(&flipped, 1_000).is_err(), "byte {at}");
        assert!(
            restore_libraries(&OF_REDIS[..at], 1_000).is_err(),
            "{at} bytes"
        );
    }
}
