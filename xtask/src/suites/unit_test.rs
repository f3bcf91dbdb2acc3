use super::*;

#[test]
fn valkey_is_itself_and_not_the_redis_that_it_stands_for() {
    let redis = "#define REDIS_VERSION \"7.2.6\"\n#define REDIS_VERSION_NUM 0x00070206\n";
    let named = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
    assert_eq!(name_and_version(redis), named("redis", "7.2.6"));
    let valkey = "#define VALKEY_VERSION \"9.1.2\"\n#define REDIS_VERSION \"7.2.4\"\n";
    assert_eq!(name_and_version(valkey), named("valkey", "9.1.2"));
    assert_eq!(name_and_version("#define OTHER 1\n"), None);
}
