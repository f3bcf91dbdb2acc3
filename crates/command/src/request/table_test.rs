use super::*;
use crate::args::OwnedArgs;
use crate::resolve::resolve;

fn parsed(request: &OwnedArgs) -> Result<TableCommand<'_>, String> {
    let args = request.as_args();
    let spec = resolve(args).map_err(|error| error.to_string())?;
    TableCommand::parse(spec.id, args).map_err(|error| error.to_string())
}

#[test]
fn create_reads_every_attribute() {
    let line = "TABLE CREATE t MEDIUM disk durability FSYNC REPLICAS 3 PARTITIONS 64 MAXMEMORY 1gb EVICT lru";
    let request: OwnedArgs = line.split(' ').collect();
    let Ok(TableCommand::Create("t", options)) = parsed(&request) else {
        panic!("TABLE CREATE");
    };
    let mut attributes = TableAttributes::default();
    options.apply_to(&mut attributes);
    assert_eq!(attributes.medium, Medium::Disk);
    assert_eq!(attributes.durability, Durability::Fsync);
    assert_eq!(attributes.replicas, 3);
    assert_eq!(attributes.maxmemory, Some(1 << 30));
    assert_eq!(attributes.evict, Eviction::Lru);
    assert_eq!(options.partitions, Some(64));
}

#[test]
fn layout_is_read_and_given_back() {
    let read = |words: &str| {
        let request: OwnedArgs = format!("TABLE ALTER t {words}").split(' ').collect();
        match parsed(&request) {
            Ok(TableCommand::Alter("t", options)) => Ok(options),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        }
    };
    let options = read("placement RING:100 nodes 3,1,2 partition_bytes 8mb").unwrap();
    assert_eq!(options.placement, Some(Placement::Ring { points: 100 }));
    assert_eq!(options.nodes, Some(BTreeSet::from([1, 2, 3])));
    assert_eq!(options.partition_bytes, Some(Some(8 << 20)));
    let options = read("PLACEMENT even NODES all PARTITION_BYTES default").unwrap();
    assert_eq!(options.placement, Some(Placement::Even));
    assert_eq!(options.nodes, Some(BTreeSet::new()));
    assert_eq!(options.partition_bytes, Some(None));
    let never = read("PARTITION_BYTES 0").unwrap();
    assert_eq!(
        (never.partition_bytes, never.nodes, never.placement),
        (Some(Some(0)), None, None)
    );
    for (words, text) in [
        (
            "PLACEMENT odd",
            "PLACEMENT is 'odd'; use one of even, ring,",
        ),
        ("NODES 1,,2", "NODES is '1,,2'; use the numbers of nodes"),
        ("NODES -1", "NODES is '-1'; use"),
        ("NODES east", "NODES is 'east'; use"),
        (
            "PARTITION_BYTES some",
            "PARTITION_BYTES is 'some'; use a number of bytes",
        ),
    ] {
        let refusal = read(words).unwrap_err();
        assert!(refusal.contains(text), "{refusal}");
    }
}

#[test]
fn hash_function_is_read_with_its_bounds_and_fixed() {
    let read = |line: &str| {
        let request: OwnedArgs = line.split(' ').collect();
        match parsed(&request) {
            Ok(TableCommand::Create("t", options)) => Ok((options.hash, options.bounds)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        }
    };
    assert_eq!(read("TABLE CREATE t"), Ok((None, None)));
    for function in ["slot", "keyed", "key64", "ordered"] {
        let (hash, bounds) = read(&format!("TABLE CREATE t HASH {function}")).unwrap();
        assert_eq!(hash.unwrap().word(), function);
        assert_eq!(bounds, None);
    }
    let (hash, bounds) = read("TABLE CREATE t FROM user:0 hash ORDERED to user:9").unwrap();
    assert_eq!(hash, Some(HashFunction::Ordered));
    assert_eq!(bounds, KeyBounds::new("user:0", "user:9").ok());
    for (line, text) in [
        (
            "TABLE CREATE t HASH md5",
            "ERR HASH is 'md5'; use one of slot, keyed, key64, ordered",
        ),
        ("TABLE CREATE t HASH ordered FROM a", "ERR FROM and TO are"),
        (
            "TABLE CREATE t HASH keyed FROM a TO b",
            "ERR FROM and TO are",
        ),
        ("TABLE CREATE t FROM a TO b", "ERR FROM and TO are"),
        (
            "TABLE CREATE t HASH ordered FROM b TO a",
            "ERR FROM is 'b' and TO is 'a'; FROM is the lowest",
        ),
        (
            "TABLE ALTER t HASH keyed",
            "ERR HASH, FROM and TO are fixed",
        ),
    ] {
        let refusal = read(line).unwrap_err();
        assert!(refusal.starts_with(text), "{line}: {refusal}");
    }
}

#[test]
fn alter_leaves_what_it_does_not_name() {
    let request: OwnedArgs = "table alter t maxmemory 0".split(' ').collect();
    let Ok(TableCommand::Alter("t", options)) = parsed(&request) else {
        panic!("TABLE ALTER");
    };
    let mut attributes = TableAttributes {
        replicas: 2,
        maxmemory: Some(5),
        ..TableAttributes::default()
    };
    options.apply_to(&mut attributes);
    assert_eq!((attributes.replicas, attributes.maxmemory), (2, None));
}

#[test]
fn what_a_new_table_inherits_is_not_in_the_way_of_its_replicas() {
    let of_default = TableAttributes {
        replicas: 3,
        min_in_sync: 2,
        ..TableAttributes::default()
    };
    for (words, expected) in [
        ("DURABILITY fsync", (3, 2)),
        ("REPLICAS 1", (1, 1)),
        ("REPLICAS 2", (2, 2)),
        // Asked for by name: for the catalog to refuse.
        ("REPLICAS 1 MIN_IN_SYNC 2", (1, 2)),
    ] {
        let request: OwnedArgs = format!("TABLE CREATE t {words}").split(' ').collect();
        let Ok(TableCommand::Create("t", options)) = parsed(&request) else {
            panic!("{words}");
        };
        let mut attributes = of_default.clone();
        options.apply_to(&mut attributes);
        let got = (attributes.replicas, attributes.min_in_sync);
        assert_eq!(got, expected, "{words}");
    }
}

#[test]
fn bytes_have_the_units_of_redis() {
    let cases = [
        ("7", 7),
        ("7b", 7),
        ("1k", 1000),
        ("1KB", 1024),
        ("2m", 2_000_000),
        ("1gb", 1 << 30),
    ];
    for (text, expected) in cases {
        assert_eq!(bytes("MAXMEMORY", text, ""), Ok(expected), "{text}");
    }
    for text in ["", "gb", "1x", "-1", "1.5gb", "99999999999gb"] {
        assert!(bytes("MAXMEMORY", text, "").is_err(), "{text}");
    }
}

#[test]
fn refusals_say_what_would_be_right() {
    let cases = [
        (
            "table create t medium tape",
            "ERR MEDIUM is 'tape'; use one of ram, disk",
        ),
        (
            "table create t replicas 0",
            "ERR REPLICAS is '0'; use a number from 1 to 255",
        ),
        (
            "table create t medium",
            "ERR option 'medium' has no value after it",
        ),
        (
            "table alter t partitions 8",
            "ERR PARTITIONS is a number only when a table is made; use auto (as many as the bricks need) or fixed (no more \
             than there are)",
        ),
        (
            "table alter t partitions auto replicas 2",
            "ERR PARTITIONS auto and fixed are another kind of change; say them in a TABLE ALTER of their own",
        ),
        (
            "table create t partitions fixed",
            "ERR PARTITIONS fixed is for a table that is there; give a new one the number that it is to keep",
        ),
        (
            "table drop t confirm u",
            "ERR dropping a table removes its keys for ever; to do it, say: TABLE DROP t CONFIRM t",
        ),
        (
            "table drop t",
            "ERR wrong number of arguments for 'table|drop' command",
        ),
        (
            "table nosuch",
            "ERR unknown subcommand 'nosuch'. Try TABLE HELP.",
        ),
    ];
    for (line, error) in cases {
        let request: OwnedArgs = line.split(' ').collect();
        assert_eq!(parsed(&request), Err(error.to_owned()), "{line}");
    }
}

#[test]
fn recovery_is_confirmed_by_the_tables_name_alone() {
    let parse = |line: &str| -> Result<(String, String, bool), String> {
        let request: OwnedArgs = line.split(' ').collect();
        match parsed(&request)? {
            TableCommand::Recover {
                name,
                partitions,
                is_confirmed,
            } => {
                let numbers: Vec<String> = partitions.iter().map(|it| it.to_string()).collect();
                Ok((name.to_owned(), numbers.join(" "), is_confirmed))
            }
            other => panic!("{other:?}"),
        }
    };
    let recovery =
        |partitions: &str, is_confirmed| Ok(("t".to_owned(), partitions.to_owned(), is_confirmed));
    assert_eq!(parse("TABLE RECOVER t"), recovery("", false));
    assert_eq!(parse("TABLE RECOVER t CONFIRM t"), recovery("", true));
    assert_eq!(parse("table recover t 3 14"), recovery("3 14", false));
    assert_eq!(
        parse("TABLE RECOVER t 3 14 confirm t"),
        recovery("3 14", true)
    );
    for line in [
        "TABLE RECOVER t CONFIRM u",
        "TABLE RECOVER t CONFIRM T",
        "TABLE RECOVER t CONFIRM",
        "TABLE RECOVER t 3 CONFIRM",
        "TABLE RECOVER t CONFIRM t 3",
        "TABLE RECOVER t -1",
        "TABLE RECOVER t all",
    ] {
        let refusal = parse(line).unwrap_err();
        assert!(refusal.contains("is no partition"), "{line}: {refusal}");
    }
    assert!(parse("TABLE RECOVER").is_err());
}
