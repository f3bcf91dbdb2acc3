//! Any arguments as a request: whatever reads them does not panic, be it a command on data, a question to the
//! server or one of `TABLE`.
//!
//! The input is split at newlines into requests and at tabs into arguments. Data commands run on one small table
//! after the other, so that later ones meet what earlier ones left.

use brickyard_command::request::{
    AuthArgs, ClientCommand, ClusterCommand, ConfigCommand, HelloArgs, LatencyCommand, RequestArgs,
    ScanArgs, ShutdownArgs, SlowlogCommand, TableCommand, WaitArgs, parse_bgsave, parse_flush,
    parse_ping, parse_select,
};
use brickyard_command::testing::MemoryKeyspace;
use brickyard_command::{OwnedArgs, is_data_command, keys, resolve};
use brickyard_wire::Protocol;

/// See the module.
pub(super) fn run(input: &[u8]) {
    let mut keyspace = MemoryKeyspace::default();
    for line in input.split(|byte| *byte == b'\n').take(32) {
        let mut request = OwnedArgs::with_capacity(line.len(), 4);
        line.split(|byte| *byte == b'\t')
            .for_each(|word| request.push(word));
        ask(&request);
        if is_run(&request) {
            let reply = keyspace.run(Protocol::Resp3, &request);
            assert!(reply.ends_with(b"\r\n"), "a reply has an end");
        }
    }
}

/// Whether it is a command on data that makes nothing large.
fn is_run(request: &OwnedArgs) -> bool {
    let args = request.as_args();
    let Ok(spec) = resolve(args) else {
        return false;
    };
    // An offset may ask for half a gigabyte, which is allowed, and slow here.
    let is_long = (0..args.len())
        .any(|at| args.at(at).len() > 5 && args.at(at).iter().all(u8::is_ascii_digit));
    is_data_command(spec.id) && !is_long
}

fn ask(request: &OwnedArgs) {
    let args = request.as_args();
    let Ok(spec) = resolve(args) else {
        return;
    };
    for key in keys(spec, args) {
        assert!(key < args.len(), "{} has no argument {key}", spec.name);
    }
    // Each reads what is meant for another as well: what it gets was counted by that one's arity alone, so
    // only those of its own number of arguments are passed on.
    let name = spec.name;
    match name.split(['|', ' ']).next().unwrap_or_default() {
        "table" => drop(TableCommand::parse(spec.id, args).map(drop)),
        "client" => drop(ClientCommand::parse(spec.id, args).map(drop)),
        "cluster" => drop(ClusterCommand::parse(spec.id, args).map(drop)),
        "config" => drop(ConfigCommand::parse(spec.id, args).map(drop)),
        "slowlog" => drop(SlowlogCommand::parse(spec.id, args).map(drop)),
        "latency" => drop(LatencyCommand::parse(spec.id, args)),
        "hello" => drop(HelloArgs::parse(args).map(drop)),
        "auth" => drop(AuthArgs::parse(args).map(drop)),
        "select" => drop(parse_select(args)),
        "ping" => drop(parse_ping(args).map(drop)),
        "scan" => drop(ScanArgs::parse(args).map(drop)),
        "flushall" | "flushdb" => drop(parse_flush(args)),
        "shutdown" => drop(ShutdownArgs::parse(args).map(drop)),
        "bgsave" => drop(parse_bgsave(args)),
        "wait" => drop(WaitArgs::parse(args).map(drop)),
        "request" => drop(RequestArgs::parse(args)),
        _ => {}
    }
}

/// Requests of many kinds.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let requests = [
        "SET k v\nGET k\nAPPEND k w\nGETRANGE k 0 -1\nSETRANGE k 3 x\nSTRLEN k",
        "SET k 1 EX 10 NX GET\nINCRBY k 5\nINCRBYFLOAT k 1.5\nTTL k\nPEXPIREAT k 99 GT\nPERSIST k",
        "SETBIT b 7 1\nBITCOUNT b 0 -1 BIT\nBITPOS b 1 0 5 BYTE\nBITOP NOT c b\nBITFIELD b OVERFLOW SAT INCRBY i5 100 1 GET u4 0",
        "MSET a 1 b 2\nMGET a b c\nLCS a b IDX MINMATCHLEN 1 WITHMATCHLEN\nRENAME a d\nCOPY d e REPLACE\nOBJECT ENCODING d",
        "SET k v IFEQ w\nDELIFEQ k v\nGETEX k PX 5\nGETDEL k\nDEL a b c\nEXISTS a a",
        "TABLE CREATE t MEDIUM disk DURABILITY fsync REPLICAS 3 PARTITIONS 64 MAXMEMORY 1gb EVICT lru\nTABLE ALTER t MAXMEMORY 0",
        "TABLE USE t\nTABLE LIST\nTABLE DESCRIBE t\nTABLE DROP t\nTABLE DIGEST t 0\nTABLE EXPORT t 3 AFTER 7\nTABLE EXPORT t 3 NEXT",
        "CLIENT KILL ADDR 127.0.0.1:1 SKIPME no\nCLIENT REPLY SKIP\nCLIENT SETNAME x\nCLIENT LIST TYPE normal",
        "CONFIG GET max* slow*\nCONFIG SET a b\nSLOWLOG GET 5\nLATENCY RESET\nCLUSTER KEYSLOT x\nCLUSTER COUNTKEYSINSLOT 5\nCLUSTER LOOKUP 3fff GRAPH debruijn BY ANY HOPS 3",
        "HELLO 3 AUTH u p SETNAME n\nAUTH u p\nSELECT 3\nPING x\nSCAN 0 MATCH a* COUNT 5 TYPE string",
        "FLUSHALL ASYNC\nSHUTDOWN NOSAVE NOW FORCE\nBGSAVE SCHEDULE\nWAIT 1 100\nREQUEST 7 9 AGAIN SET k v\nREQUEST NOW",
    ];
    let tabbed = requests
        .iter()
        .map(|text| text.replace(' ', "\t").into_bytes());
    tabbed.collect()
}
