//! The commands that sequences are made of, each with its weight and shape (see `template`).
//!
//! Not here: what the placeholders stand for (`generate`).

use super::template::Template;
use std::sync::OnceLock;

/// Commands over keys and values: weight and shape. `key` is any key, `peer` mostly one of those that share
/// a tag with other `peer`s of the sequence, and `friend` one too, in a cluster always.
pub(super) const DATA: &[(usize, &str)] = &[
    (12, "SET key value"),
    (
        8,
        "SET key value [ NX | XX ] [ GET ] [ EX seconds | PX millis | EXAT later | PXAT latermillis | KEEPTTL ]",
    ),
    (
        3,
        "SET key value [ EX seconds | PX millis | KEEPTTL ] [ GET ] [ NX | XX | EXAT later ]",
    ),
    (10, "GET key"),
    (2, "SETNX key value"),
    (2, "SETEX key seconds value"),
    (2, "PSETEX key millis value"),
    (2, "GETSET key value"),
    (2, "GETDEL key"),
    (
        4,
        "GETEX key [ EX seconds | PX millis | EXAT unix | PXAT unixmillis | PERSIST ]",
    ),
    (4, "MGET key+"),
    (4, "MSET ( key value )+"),
    (3, "MSETNX ( peer value )+"),
    (5, "APPEND key value"),
    (2, "STRLEN key"),
    (4, "GETRANGE key index index"),
    (1, "SUBSTR key index index"),
    (4, "SETRANGE key offset value"),
    (4, "INCR key"),
    (2, "DECR key"),
    (4, "INCRBY key integer"),
    (3, "DECRBY key integer"),
    (4, "INCRBYFLOAT key float"),
    (3, "SETBIT key bitoffset bit"),
    (3, "GETBIT key bitoffset"),
    (3, "BITCOUNT key [ index index [ BYTE | BIT | junk ] ]"),
    (3, "BITPOS key bit [ index [ index [ BYTE | BIT ] ] ]"),
    (
        4,
        "BITFIELD key ( GET field fieldoffset | SET field fieldoffset integer | INCRBY field fieldoffset integer \
        | OVERFLOW ( WRAP | SAT | FAIL ) INCRBY field fieldoffset integer )+",
    ),
    (3, "BITOP ( AND | OR | XOR ) peer peer+"),
    (1, "BITOP NOT peer peer"),
    (1, "BITFIELD_RO key ( GET field fieldoffset )+"),
    (
        2,
        "LCS peer peer [ LEN | IDX | IDX WITHMATCHLEN | IDX MINMATCHLEN count | LEN IDX | junk ]",
    ),
    (4, "DEL key+"),
    (2, "UNLINK key+"),
    (3, "EXISTS key+"),
    (2, "TOUCH key+"),
    (2, "TYPE key"),
    (
        4,
        "( EXPIRE key seconds | PEXPIRE key millis | EXPIREAT key unix | PEXPIREAT key unixmillis )",
    ),
    (
        4,
        "( EXPIRE key seconds | PEXPIRE key millis | EXPIREAT key unix | PEXPIREAT key unixmillis ) ( NX | XX | GT | LT )+",
    ),
    (3, "( TTL | PTTL ) key"),
    (3, "( EXPIRETIME | PEXPIRETIME ) key"),
    (2, "PERSIST key"),
    (3, "RENAME peer peer"),
    (3, "RENAMENX peer peer"),
    (4, "COPY peer peer [ REPLACE ] [ REPLACE ]"),
    (2, "OBJECT ENCODING key"),
    (1, "OBJECT ( REFCOUNT | IDLETIME ) key"),
    (1, "MEMORY USAGE key [ SAMPLES count ]"),
    (10, "( HSET | HSET | HMSET ) key ( hfield value )+"),
    (2, "HSETNX key hfield value"),
    (4, "( HGET | HEXISTS | HSTRLEN ) key hfield"),
    (3, "( HMGET | HDEL | HDEL ) key hfield+"),
    (5, "( HGETALL | HKEYS | HVALS | HLEN | TYPE ) key"),
    (3, "HINCRBY key hfield integer"),
    (2, "HINCRBYFLOAT key hfield float"),
    (
        1,
        "HRANDFIELD key [ count | -1 | 3 WITHVALUES | junk | 1 junk ]",
    ),
    (
        1,
        "HSCAN key ( 0 | junk ) [ MATCH pattern ] [ COUNT count ] [ junk ]",
    ),
    (8, "EVAL script 2 friend friend value"),
    (1, "EVAL_RO script 2 friend friend value"),
];

/// Scripts of two keys and an argument.
pub(super) const SCRIPTS: &[&str] = &[
    "return redis.call('get', KEYS[1])",
    "return redis.call('set', KEYS[1], ARGV[1])",
    "return redis.call('incr', KEYS[1])",
    "redis.call('append', KEYS[1], ARGV[1]) return redis.call('strlen', KEYS[1])",
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
    "local v = redis.call('mget', KEYS[1], KEYS[2]) \
     redis.call('mset', KEYS[1], v[2] or 'none', KEYS[2], v[1] or 'none') return v",
    "return {redis.call('exists', KEYS[1]), redis.call('ttl', KEYS[2]) > 0, {ok = 'fine'}, ARGV[1], 3.7, false}",
    "redis.call('set', KEYS[1], ARGV[1]) return redis.call('incr', KEYS[1])",
    "local r = redis.pcall('incr', KEYS[1]) if type(r) == 'table' then return r end return r + 1",
    "local n = tonumber(redis.call('get', KEYS[1])) or 0 if n >= 2 then return redis.error_reply('LIMIT reached') end \
     redis.call('incr', KEYS[1]) redis.call('expire', KEYS[1], 1000) return n",
    "return {cmsgpack.unpack(cmsgpack.pack(ARGV[1], 12, {1, 2}))}",
    "return redis.sha1hex(ARGV[1])",
    "redis.setresp(3) return redis.call('get', KEYS[1])",
    "local copy = {} for i, key in ipairs(KEYS) do copy[i] = redis.call('getrange', key, 0, 2) end return copy",
    "redis.call('rename', KEYS[1], KEYS[2]) return redis.status_reply('MOVED')",
    "return redis.call('nosuch', KEYS[1])",
    "return redis.pcall('get')",
    "error('mine')",
    "error({err = 'MINE text'})",
    "return #ARGV[1] + select('#', unpack(KEYS))",
    "redis.call('hset', KEYS[1], 'f', ARGV[1], 'n', 1) return redis.call('hget', KEYS[1], 'f')",
    "local t = redis.call('type', KEYS[1]).ok if t == 'hash' then return redis.call('hincrby', KEYS[1], 'n', 2) end return t",
];

/// Commands over the whole key space, or about the connection itself. Not inside a transaction: ours
/// is about the keys that its commands name, and refuses what is about all of them.
pub(super) const KEYSPACE: &[(usize, &str)] = &[
    (6, "KEYS pattern"),
    (6, "DBSIZE"),
    (1, "FLUSHDB [ ASYNC | SYNC | junk ]"),
    (1, "FLUSHALL [ ASYNC | SYNC ]"),
    (3, "HELLO [ 2 | 3 | 3 SETNAME name | 4 | junk ]"),
    (
        1,
        "CLIENT KILL ( ID 123456789 | ADDR 1.2.3.4:5 | 1.2.3.4:5 | ID junk | junk junk )",
    ),
    (
        1,
        "CLIENT LIST ( TYPE normal | TYPE junk | ID 123456789 | ID junk )",
    ),
    (1, "CLIENT REPLY ( ON | junk )"),
    (1, "WAIT ( 0 0 | 0 10 | junk 0 | 0 junk | 0 -1 )"),
    (
        1,
        "SCAN ( junk | 0 COUNT 0 | 0 COUNT junk | 0 MATCH | 0 junk junk | -1 | 1x )",
    ),
];

/// Commands about the connection and the server.
pub(super) const SERVER: &[(usize, &str)] = &[
    (4, "PING [ value ]"),
    (3, "ECHO value"),
    (2, "CLIENT ( GETNAME | SETNAME name | SETNAME badname )"),
    (
        1,
        "CLIENT ( ID | INFO | NO-EVICT ON | NO-EVICT OFF | NO-EVICT junk | junk )",
    ),
    (
        2,
        "COMMAND ( GETKEYS SET key value EX 1 | GETKEYS MSET key value key value | GETKEYS BITOP AND key key key \
        | GETKEYS GET key | GETKEYS PING | GETKEYS junk | GETKEYS GET | COUNT | LIST | junk )",
    ),
    (
        1,
        "CONFIG ( GET databases | GET junk | SET junk junk | RESETSTAT | junk )",
    ),
    (1, "OBJECT ( ENCODING | junk key | HELP )"),
    (
        1,
        "MEMORY ( junk key | USAGE key SAMPLES junk | USAGE key junk )",
    ),
    (1, "SLOWLOG ( RESET | junk | GET junk | GET 0 )"),
    (1, "LATENCY ( junk | RESET junk )"),
    (1, "TIME"),
    (1, "LASTSAVE"),
    (
        1,
        "INFO ( server | clients | memory | stats | replication | keyspace | everything )",
    ),
    (2, "junk junk+"),
    (1, "junk"),
];

/// Transactions, beside which data commands are queued.
pub(super) const TRANSACTION: &[(usize, &str)] = &[
    (5, "MULTI"),
    (8, "EXEC"),
    (2, "DISCARD"),
    (4, "WATCH friend+"),
    (1, "UNWATCH"),
];

/// What only a cluster node answers.
pub(super) const CLUSTER: &[(usize, &str)] = &[
    (4, "CLUSTER ( KEYSLOT value | KEYSLOT key )"),
    (3, "CLUSTER COUNTKEYSINSLOT ( slot | keyslot | junk )"),
    // All of them or none: which ones a smaller count gets is each server's own.
    (
        3,
        "CLUSTER GETKEYSINSLOT ( slot | keyslot ) ( 0 | 1000 | -1 | junk )",
    ),
    (1, "CLUSTER ( INFO | MYID | SLOTS | SHARDS | NODES | junk )"),
    (1, "( READONLY | READWRITE | ASKING )"),
];

/// What a cluster node's connection may say about itself.
pub(super) const CLUSTER_CONNECTION: &[(usize, &str)] = &[
    (2, "SELECT 0"),
    (1, "AUTH junk"),
    (1, "AUTH ( default | junk ) junk"),
];

/// The same of a standalone server. Not `AUTH default`, which leads to that user's table with us.
pub(super) const STANDALONE_CONNECTION: &[(usize, &str)] = &[
    (8, "SELECT ( 0 | 1 | 2 | 15 )"),
    (1, "AUTH junk"),
    (1, "AUTH junk junk"),
];

/// Weights and templates.
pub(super) type Table = Vec<(usize, Template)>;

/// The parsed list, parsed once.
pub(super) fn parsed(
    cell: &'static OnceLock<Table>,
    list: &[(usize, &'static str)],
) -> &'static Table {
    cell.get_or_init(|| {
        list.iter()
            .map(|&(weight, text)| (weight, Template::parse(text)))
            .collect()
    })
}
