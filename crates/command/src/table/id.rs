//! A number for each command.

/// Which command a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
#[rustfmt::skip]
pub enum CommandId {
    /// `APPEND`
    Append,
    /// `DECR`
    Decr,
    /// `DECRBY`
    Decrby,
    /// `DELIFEQ`
    Delifeq,
    /// `GET`
    Get,
    /// `GETDEL`
    Getdel,
    /// `GETEX`
    Getex,
    /// `GETRANGE`
    Getrange,
    /// `GETSET`
    Getset,
    /// `INCR`
    Incr,
    /// `INCRBY`
    Incrby,
    /// `INCRBYFLOAT`
    Incrbyfloat,
    /// `LCS`
    Lcs,
    /// `MGET`
    Mget,
    /// `MSET`
    Mset,
    /// `MSETNX`
    Msetnx,
    /// `PSETEX`
    Psetex,
    /// `SET`
    Set,
    /// `SETEX`
    Setex,
    /// `SETNX`
    Setnx,
    /// `SETRANGE`
    Setrange,
    /// `STRLEN`
    Strlen,
    /// `SUBSTR`
    Substr,
    /// `BITCOUNT`
    Bitcount,
    /// `BITFIELD`
    Bitfield,
    /// `BITFIELD_RO`
    BitfieldRo,
    /// `BITOP`
    Bitop,
    /// `BITPOS`
    Bitpos,
    /// `GETBIT`
    Getbit,
    /// `SETBIT`
    Setbit,
    /// `COPY`
    Copy,
    /// `DEL`
    Del,
    /// `EXISTS`
    Exists,
    /// `EXPIRE`
    Expire,
    /// `EXPIREAT`
    Expireat,
    /// `EXPIRETIME`
    Expiretime,
    /// `KEYS`
    Keys,
    /// `MOVE`
    Move,
    /// `OBJECT`
    Object,
    /// `OBJECT ENCODING`
    ObjectEncoding,
    /// `OBJECT FREQ`
    ObjectFreq,
    /// `OBJECT HELP`
    ObjectHelp,
    /// `OBJECT IDLETIME`
    ObjectIdletime,
    /// `OBJECT REFCOUNT`
    ObjectRefcount,
    /// `PERSIST`
    Persist,
    /// `PEXPIRE`
    Pexpire,
    /// `PEXPIREAT`
    Pexpireat,
    /// `PEXPIRETIME`
    Pexpiretime,
    /// `PTTL`
    Pttl,
    /// `RANDOMKEY`
    Randomkey,
    /// `RENAME`
    Rename,
    /// `RENAMENX`
    Renamenx,
    /// `SCAN`
    Scan,
    /// `TOUCH`
    Touch,
    /// `TTL`
    Ttl,
    /// `TYPE`
    Type,
    /// `UNLINK`
    Unlink,
    /// `WAIT`
    Wait,
    /// `AUTH`
    Auth,
    /// `CLIENT`
    Client,
    /// `CLIENT CACHING`
    ClientCaching,
    /// `CLIENT GETNAME`
    ClientGetname,
    /// `CLIENT GETREDIR`
    ClientGetredir,
    /// `CLIENT HELP`
    ClientHelp,
    /// `CLIENT ID`
    ClientId,
    /// `CLIENT INFO`
    ClientInfo,
    /// `CLIENT KILL`
    ClientKill,
    /// `CLIENT LIST`
    ClientList,
    /// `CLIENT NO-EVICT`
    ClientNoEvict,
    /// `CLIENT NO-TOUCH`
    ClientNoTouch,
    /// `CLIENT PAUSE`
    ClientPause,
    /// `CLIENT REPLY`
    ClientReply,
    /// `CLIENT SETINFO`
    ClientSetinfo,
    /// `CLIENT SETNAME`
    ClientSetname,
    /// `CLIENT TRACKING`
    ClientTracking,
    /// `CLIENT TRACKINGINFO`
    ClientTrackinginfo,
    /// `CLIENT UNPAUSE`
    ClientUnpause,
    /// `ECHO`
    Echo,
    /// `HELLO`
    Hello,
    /// `PING`
    Ping,
    /// `QUIT`
    Quit,
    /// `RESET`
    Reset,
    /// `SELECT`
    Select,
    /// `DISCARD`
    Discard,
    /// `EXEC`
    Exec,
    /// `MULTI`
    Multi,
    /// `UNWATCH`
    Unwatch,
    /// `WATCH`
    Watch,
    /// `BGSAVE`
    Bgsave,
    /// `COMMAND`
    Command,
    /// `COMMAND COUNT`
    CommandCount,
    /// `COMMAND DOCS`
    CommandDocs,
    /// `COMMAND GETKEYS`
    CommandGetkeys,
    /// `COMMAND GETKEYSANDFLAGS`
    CommandGetkeysandflags,
    /// `COMMAND HELP`
    CommandHelp,
    /// `COMMAND INFO`
    CommandInfo,
    /// `COMMAND LIST`
    CommandList,
    /// `CONFIG`
    Config,
    /// `CONFIG GET`
    ConfigGet,
    /// `CONFIG HELP`
    ConfigHelp,
    /// `CONFIG RESETSTAT`
    ConfigResetstat,
    /// `CONFIG REWRITE`
    ConfigRewrite,
    /// `CONFIG SET`
    ConfigSet,
    /// `DBSIZE`
    Dbsize,
    /// `FLUSHALL`
    Flushall,
    /// `FLUSHDB`
    Flushdb,
    /// `INFO`
    Info,
    /// `LASTSAVE`
    Lastsave,
    /// `LATENCY`
    Latency,
    /// `LATENCY DOCTOR`
    LatencyDoctor,
    /// `LATENCY GRAPH`
    LatencyGraph,
    /// `LATENCY HELP`
    LatencyHelp,
    /// `LATENCY HISTOGRAM`
    LatencyHistogram,
    /// `LATENCY HISTORY`
    LatencyHistory,
    /// `LATENCY LATEST`
    LatencyLatest,
    /// `LATENCY RESET`
    LatencyReset,
    /// `MEMORY`
    Memory,
    /// `MEMORY DOCTOR`
    MemoryDoctor,
    /// `MEMORY HELP`
    MemoryHelp,
    /// `MEMORY MALLOC-STATS`
    MemoryMallocStats,
    /// `MEMORY PURGE`
    MemoryPurge,
    /// `MEMORY STATS`
    MemoryStats,
    /// `MEMORY USAGE`
    MemoryUsage,
    /// `MONITOR`
    Monitor,
    /// `ROLE`
    Role,
    /// `SAVE`
    Save,
    /// `SHUTDOWN`
    Shutdown,
    /// `SLOWLOG`
    Slowlog,
    /// `SLOWLOG GET`
    SlowlogGet,
    /// `SLOWLOG HELP`
    SlowlogHelp,
    /// `SLOWLOG LEN`
    SlowlogLen,
    /// `SLOWLOG RESET`
    SlowlogReset,
    /// `TIME`
    Time,
    /// `ASKING`
    Asking,
    /// `CLUSTER`
    Cluster,
    /// `CLUSTER COUNTKEYSINSLOT`
    ClusterCountkeysinslot,
    /// `CLUSTER GETKEYSINSLOT`
    ClusterGetkeysinslot,
    /// `CLUSTER HELP`
    ClusterHelp,
    /// `CLUSTER INFO`
    ClusterInfo,
    /// `CLUSTER KEYSLOT`
    ClusterKeyslot,
    /// `CLUSTER LINKS`
    ClusterLinks,
    /// `CLUSTER LOOKUP`
    ClusterLookup,
    /// `CLUSTER MYID`
    ClusterMyid,
    /// `CLUSTER MYSHARDID`
    ClusterMyshardid,
    /// `CLUSTER NODES`
    ClusterNodes,
    /// `CLUSTER REPLICAS`
    ClusterReplicas,
    /// `CLUSTER SHARDS`
    ClusterShards,
    /// `CLUSTER SLOTS`
    ClusterSlots,
    /// `CLUSTER WATCH`
    ClusterWatch,
    /// `REQUEST`
    Request,
    /// `READONLY`
    Readonly,
    /// `READWRITE`
    Readwrite,
    /// `TABLE`
    Table,
    /// `TABLE ALTER`
    TableAlter,
    /// `TABLE BIGKEYS`
    TableBigkeys,
    /// `TABLE CREATE`
    TableCreate,
    /// `TABLE DESCRIBE`
    TableDescribe,
    /// `TABLE DIGEST`
    TableDigest,
    /// `TABLE DROP`
    TableDrop,
    /// `TABLE EXPORT`
    TableExport,
    /// `TABLE HELP`
    TableHelp,
    /// `TABLE HOTKEYS`
    TableHotkeys,
    /// `TABLE LIST`
    TableList,
    /// `TABLE MERGE`
    TableMerge,
    /// `TABLE OFFLINE`
    TableOffline,
    /// `TABLE ONLINE`
    TableOnline,
    /// `TABLE RECOVER`
    TableRecover,
    /// `TABLE SPLIT`
    TableSplit,
    /// `TABLE USE`
    TableUse,
    /// `NODE`
    Node,
    /// `NODE ALTER`
    NodeAlter,
    /// `NODE DRAIN`
    NodeDrain,
    /// `NODE HELP`
    NodeHelp,
    /// `NODE LIST`
    NodeList,
    /// `NODE REMOVE`
    NodeRemove,
    /// `NODE REPLACE`
    NodeReplace,
    /// `REBALANCE`
    Rebalance,
    /// `REBALANCE HELP`
    RebalanceHelp,
    /// `REBALANCE PAUSE`
    RebalancePause,
    /// `REBALANCE PLAN`
    RebalancePlan,
    /// `REBALANCE RESUME`
    RebalanceResume,
    /// `REBALANCE STATUS`
    RebalanceStatus,
    /// `ACL`
    Acl,
    /// `ACL CAT`
    AclCat,
    /// `ACL DELUSER`
    AclDeluser,
    /// `ACL DRYRUN`
    AclDryrun,
    /// `ACL GENPASS`
    AclGenpass,
    /// `ACL GETUSER`
    AclGetuser,
    /// `ACL HELP`
    AclHelp,
    /// `ACL LIST`
    AclList,
    /// `ACL LOAD`
    AclLoad,
    /// `ACL LOG`
    AclLog,
    /// `ACL SAVE`
    AclSave,
    /// `ACL SETUSER`
    AclSetuser,
    /// `ACL USERS`
    AclUsers,
    /// `ACL WHOAMI`
    AclWhoami,
    /// `EVAL`
    Eval,
    /// `EVAL_RO`
    EvalRo,
    /// `EVALSHA`
    Evalsha,
    /// `EVALSHA_RO`
    EvalshaRo,
    /// `FCALL`
    Fcall,
    /// `FCALL_RO`
    FcallRo,
    /// `FUNCTION`
    Function,
    /// `FUNCTION DELETE`
    FunctionDelete,
    /// `FUNCTION DUMP`
    FunctionDump,
    /// `FUNCTION FLUSH`
    FunctionFlush,
    /// `FUNCTION HELP`
    FunctionHelp,
    /// `FUNCTION KILL`
    FunctionKill,
    /// `FUNCTION LIST`
    FunctionList,
    /// `FUNCTION LOAD`
    FunctionLoad,
    /// `FUNCTION RESTORE`
    FunctionRestore,
    /// `FUNCTION STATS`
    FunctionStats,
    /// `SCRIPT`
    Script,
    /// `SCRIPT EXISTS`
    ScriptExists,
    /// `SCRIPT FLUSH`
    ScriptFlush,
    /// `SCRIPT HELP`
    ScriptHelp,
    /// `SCRIPT KILL`
    ScriptKill,
    /// `SCRIPT LOAD`
    ScriptLoad,
    /// `PSUBSCRIBE`
    Psubscribe,
    /// `PUBLISH`
    Publish,
    /// `PUBSUB`
    Pubsub,
    /// `PUBSUB CHANNELS`
    PubsubChannels,
    /// `PUBSUB HELP`
    PubsubHelp,
    /// `PUBSUB NUMPAT`
    PubsubNumpat,
    /// `PUBSUB NUMSUB`
    PubsubNumsub,
    /// `PUBSUB SHARDCHANNELS`
    PubsubShardchannels,
    /// `PUBSUB SHARDNUMSUB`
    PubsubShardnumsub,
    /// `PUNSUBSCRIBE`
    Punsubscribe,
    /// `SPUBLISH`
    Spublish,
    /// `SSUBSCRIBE`
    Ssubscribe,
    /// `SUBSCRIBE`
    Subscribe,
    /// `SUNSUBSCRIBE`
    Sunsubscribe,
    /// `UNSUBSCRIBE`
    Unsubscribe,
    /// `HDEL`
    Hdel,
    /// `HEXISTS`
    Hexists,
    /// `HEXPIRE`
    Hexpire,
    /// `HEXPIREAT`
    Hexpireat,
    /// `HEXPIRETIME`
    Hexpiretime,
    /// `HGET`
    Hget,
    /// `HGETALL`
    Hgetall,
    /// `HGETDEL`
    Hgetdel,
    /// `HGETEX`
    Hgetex,
    /// `HINCRBY`
    Hincrby,
    /// `HINCRBYFLOAT`
    Hincrbyfloat,
    /// `HKEYS`
    Hkeys,
    /// `HLEN`
    Hlen,
    /// `HMGET`
    Hmget,
    /// `HMSET`
    Hmset,
    /// `HPERSIST`
    Hpersist,
    /// `HPEXPIRE`
    Hpexpire,
    /// `HPEXPIREAT`
    Hpexpireat,
    /// `HPEXPIRETIME`
    Hpexpiretime,
    /// `HPTTL`
    Hpttl,
    /// `HRANDFIELD`
    Hrandfield,
    /// `HSCAN`
    Hscan,
    /// `HSET`
    Hset,
    /// `HSETEX`
    Hsetex,
    /// `HSETNX`
    Hsetnx,
    /// `HSTRLEN`
    Hstrlen,
    /// `HTTL`
    Httl,
    /// `HVALS`
    Hvals,
    /// `DUMP`
    Dump,
    /// `RESTORE`
    Restore,
    /// `LEASE`
    Lease,
    /// `LEASE GET`
    LeaseGet,
    /// `LEASE HELP`
    LeaseHelp,
    /// `LEASE RETURN`
    LeaseReturn,
    /// `WATCHKEYS`
    Watchkeys,
    /// A subcommand of `CLUSTER` that Redis's operators use; refused with the name of ours.
    ClusterAdmin,
}

impl CommandId {
    /// How many commands there are, subcommands included: `id as usize` is below it.
    pub const COUNT: usize = Self::ClusterAdmin as usize + 1;
}
