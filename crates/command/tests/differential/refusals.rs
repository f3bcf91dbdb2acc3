//! Goal: requests that the brick carries out are refused where Redis refuses them, in its words.
//!
//! Method: a list of good and bad requests; those of a command that this crate only parses are
//! parsed, and the error, or that there is none, is compared with a real server's reply.

use super::redis::Redis;
use brickyard_command::request::{
    AuthArgs, ClientCommand, ClusterCommand, ConfigCommand, HelloArgs, LatencyCommand, ScanArgs,
    ShutdownArgs, SlowlogCommand, WaitArgs, parse_bgsave, parse_flush, parse_ping, parse_select,
};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, resolve};
use brickyard_wire::Protocol;

/// Words are separated by spaces; `_` stands for a space and `\0` for nothing at all.
const REQUESTS: &[&str] = &[
    "auth",
    "auth a b c",
    "auth user password more words",
    "bgsave other",
    "bgsave schedule more",
    "client",
    "client getname more",
    "client id",
    "client kill",
    "client kill id 0",
    "client kill id x",
    "client kill id 1 more",
    "client kill id 999999999",
    "client kill type nosuch",
    "client kill type pubsub skipme yes",
    "client kill type pubsub skipme maybe",
    "client kill laddr 1.2.3.4:5 addr 1.2.3.4:5",
    "client list id",
    "client list id 1 x",
    "client list id 999999",
    "client list id 1 2 -3",
    "client list type normal",
    "client list type NOSUCH",
    "client list other",
    "client list type normal more",
    "client no-evict maybe",
    "client no-evict off",
    "client reply maybe",
    "client reply on",
    "client setname two_words",
    "client setname \0",
    "client setname fine",
    "client setname line\n",
    "client nosuch",
    "cluster",
    "config",
    "config get",
    "config get nosuch*",
    "config set maxmemory",
    "config set maxmemory 0 timeout",
    "config set",
    "dbsize more",
    "echo",
    "flushall other",
    "flushall async",
    "flushall sync more",
    "flushdb async more",
    "flushdb SYNC",
    "hello 1",
    "hello 4",
    "hello x",
    "hello 2 auth",
    "hello 2 auth user",
    "hello 2 nosuch",
    "hello 2 setname",
    "hello 2 setname two_words",
    "hello 2 setname fine",
    "hello 2 setname fine more",
    "latency histogram",
    "latency histogram get set",
    "latency latest more",
    "latency reset",
    "latency nosuch",
    "memory usage",
    "ping",
    "ping one",
    "ping one two",
    "scan",
    "scan x",
    "scan \0",
    "scan -1",
    "scan +1",
    "scan _1",
    "scan 1_",
    "scan 18446744073709551615",
    "scan 18446744073709551616",
    "scan 0 match",
    "scan 0 match a* count",
    "scan 0 match a* count 0",
    "scan 0 match a* count -1",
    "scan 0 match a* count x",
    "scan 0 match a* count 5 type string",
    "scan 0 type nosuchtype",
    "scan 0 other x",
    "select",
    "select x",
    "select 4294967296",
    "select 0",
    "shutdown other",
    "shutdown save nosave",
    "shutdown now abort",
    "shutdown nosave other",
    "slowlog get",
    "slowlog get -1",
    "slowlog get -2",
    "slowlog get x",
    "slowlog get 5",
    "slowlog get 5 6",
    "slowlog len more",
    "time more",
    "wait 0 0",
    "wait x 0",
    "wait 0 x",
    "wait 0 -1",
    "wait -1 0",
];

/// What this crate has to say against a request.
fn refusal(args: Args<'_>) -> Result<(), ErrorReply> {
    use CommandId as Id;
    let id = resolve(args)?.id;
    match id {
        Id::Auth => AuthArgs::parse(args).map(|_| ()),
        Id::Bgsave => parse_bgsave(args),
        Id::ClientGetname
        | Id::ClientId
        | Id::ClientKill
        | Id::ClientList
        | Id::ClientNoEvict
        | Id::ClientReply
        | Id::ClientSetname => ClientCommand::parse(id, args).map(|_| ()),
        Id::ClusterCountkeysinslot => ClusterCommand::parse(id, args).map(|_| ()),
        Id::ConfigGet | Id::ConfigSet => ConfigCommand::parse(id, args).map(|_| ()),
        Id::Flushall | Id::Flushdb => parse_flush(args).map(|_| ()),
        Id::Hello => HelloArgs::parse(args).map(|_| ()),
        Id::LatencyHistogram | Id::LatencyReset => {
            let _ = LatencyCommand::parse(id, args);
            Ok(())
        }
        Id::Ping => parse_ping(args).map(|_| ()),
        Id::Scan => ScanArgs::parse(args).map(|_| ()),
        Id::Select => parse_select(args).map(|_| ()),
        Id::Shutdown => ShutdownArgs::parse(args).map(|_| ()),
        Id::SlowlogGet => SlowlogCommand::parse(id, args).map(|_| ()),
        Id::Wait => WaitArgs::parse(args).map(|_| ()),
        other => panic!("{other:?} is not parsed here"),
    }
}

#[test]
fn requests_are_refused_in_the_words_of_redis() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let requests: Vec<OwnedArgs> = REQUESTS
        .iter()
        .map(|words| {
            let words = words.split(' ');
            words
                .map(|word| word.replace('_', " ").replace('\0', ""))
                .collect()
        })
        .collect();
    let theirs = redis.run(Protocol::Resp2, &requests);
    for (request, theirs) in requests.iter().zip(theirs) {
        let shown = super::shown(request.as_args());
        let theirs = String::from_utf8_lossy(&theirs).into_owned();
        match refusal(request.as_args()) {
            Ok(()) => assert!(!theirs.starts_with('-'), "{shown}: {theirs}"),
            Err(error) => assert_eq!(format!("-{error}\r\n"), theirs, "{shown}"),
        }
    }
}
