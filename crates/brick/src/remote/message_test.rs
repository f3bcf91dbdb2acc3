use super::*;
use crate::distributed::Age;
use crate::distributed::part::{self, Ask, TransactionId};
use brickyard_command::lookup;

fn args(words: &[&str]) -> OwnedArgs {
    words.iter().collect()
}

fn command(words: &[&str]) -> (&'static Spec, OwnedArgs) {
    (lookup(words[0].as_bytes()).unwrap(), args(words))
}

/// The table that requests are of.
const SENT_TO: TableId = TableId(4);

/// What arrives of a request with this work.
fn sent(work: Work) -> Option<Request> {
    let from = Member {
        node: NodeId(3),
        brick: BrickId(1),
    };
    let token = Token {
        connection: ConnectionId(7),
        client: 99,
        placeholder: PlaceholderId(5),
        part: 2,
    };
    let origin = Origin {
        member: from,
        token,
    };
    let request = Request::new(origin, SENT_TO, Protocol::Resp3, work, Instant(8));
    match decode(from, &encode_request(1 << 41, &request))? {
        Message::Request(request) => Some(*request),
        _ => panic!("a request became something else"),
    }
}

#[test]
fn requests_arrive_as_they_were_sent_but_for_what_is_the_senders() {
    let (spec, words) = command(&["set", "key", "value"]);
    let arrived = sent(Work::Command(spec, words.clone())).unwrap();
    assert_eq!(arrived.origin.member.node, NodeId(3));
    assert_eq!(arrived.origin.token.client, 1 << 41, "the number names it");
    assert_eq!(arrived.origin.token.connection, ConnectionId(7));
    assert_eq!(
        (arrived.table, arrived.protocol),
        (SENT_TO, Protocol::Resp3)
    );
    assert!(!arrived.has_waited && arrived.attempts == 0);
    assert_eq!(arrived.work.first_key(), Some(&b"key"[..]));

    let attempt = Attempt {
        id: RequestId {
            client: u64::MAX,
            sequence: 1,
        },
        is_again: true,
        was_lost: true,
    };
    let named = sent(Work::Attempt(attempt, spec, words.clone())).unwrap();
    let named = named.work.named().unwrap();
    assert_eq!((named.id, named.is_again), (attempt.id, true));
    assert!(
        !named.was_lost,
        "what the sender has lost is its own affair"
    );

    let (dbsize, none) = command(&["dbsize"]);
    let subrequest = sent(Work::Subrequest(dbsize, none, 1 << 63)).unwrap();
    assert!(
        matches!(subrequest.work, Work::Subrequest(spec, _, subrequest) if spec.name == "dbsize" && subrequest == 1 << 63)
    );

    let transaction = Transaction {
        steps: vec![Step::Later, Step::Command(spec, words)],
        watches: vec![Watch {
            table: TableId(4),
            key: b"watched".to_vec(),
            version: Version::parse("1 17 0 0"),
        }],
        is_bare: false,
        route: None,
        anchor: None,
        across: None,
    };
    let Work::Transaction(arrived) = sent(Work::Transaction(Box::new(transaction))).unwrap().work
    else {
        panic!("a transaction became something else");
    };
    assert!(matches!(
        &arrived.steps[..],
        [Step::Later, Step::Command(..)]
    ));
    assert_eq!(arrived.watches[0].key, b"watched");
    assert_eq!(arrived.watches[0].version.line(), "1 17 0 0\n");
}

#[test]
fn transactions_over_slots_and_their_parts_arrive_as_they_were_sent() {
    let (spec, words) = command(&["rename", "from", "to"]);
    let alone = Transaction::of_command(spec, words).anchored();
    let arrived = sent(Work::Transaction(Box::new(alone))).unwrap();
    assert_eq!(arrived.work.first_key(), Some(&b"from"[..]));
    let Work::Transaction(arrived) = arrived.work else {
        panic!("a transaction became something else");
    };
    assert_eq!(arrived.anchor.as_deref(), Some(&b"from"[..]));
    assert!(arrived.is_bare && matches!(arrived.steps[..], [Step::Command(..)]));

    let asks = |keys: &[&[u8]]| Part {
        id: TransactionId {
            coordinator: u64::MAX,
            number: 1,
        },
        age: Age {
            since: 2,
            coordinator: 3,
            number: 4,
        },
        anchor: part::Bytes(b"anchor".to_vec()),
        ask: Ask::Resolve {
            keys: keys.iter().map(|key| part::Bytes(key.to_vec())).collect(),
            is_committed: true,
        },
        anchor_table: None,
    };
    let part = asks(&[b"one", b""]);
    let Work::Part(arrived) = sent(Work::Part(Box::new(part.clone()))).unwrap().work else {
        panic!("a part became something else");
    };
    assert_eq!(*arrived, part);
    // What nobody can carry out is no message: of no key, or of one that is too long.
    for keys in [&[][..], &[&[0; 1 << 16][..]]] {
        assert!(sent(Work::Part(Box::new(asks(keys)))).is_none());
    }
    let across = Part {
        anchor_table: Some(TableId(9)),
        ..part.clone()
    };
    let Work::Part(arrived) = sent(Work::Part(Box::new(across.clone()))).unwrap().work else {
        panic!("a part became something else");
    };
    assert_eq!(*arrived, across);
    // Who asks after a transaction says in which table, and asks nobody of the table that is the part's own.
    let unsound = [
        Part {
            ask: Ask::Outcome,
            ..across.clone()
        },
        Part {
            anchor_table: Some(SENT_TO),
            ..across
        },
    ];
    for part in unsound {
        assert!(sent(Work::Part(Box::new(part))).is_none());
    }
}

/// The bytes of what is about one table are those that an earlier program reads.
#[test]
fn part_of_one_table_is_sent_as_it_always_was() {
    let part = Part {
        id: TransactionId {
            coordinator: 1,
            number: 2,
        },
        age: Age {
            since: 3,
            coordinator: 4,
            number: 5,
        },
        anchor: part::Bytes(b"a".to_vec()),
        ask: Ask::Outcome,
        anchor_table: None,
    };
    let bytes = postcard::to_allocvec(&part).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4, 5, 1, b'a', 4]);
}

#[test]
fn commands_over_two_tables_arrive_as_they_were_sent() {
    let across = Across {
        database: 3,
        table: TableId(9),
    };
    for words in [&["move", "k", "3"][..], &["copy", "k", "other", "db", "3"]] {
        let (spec, args) = command(words);
        let moved = Transaction::of_command(spec, args).spanning(across);
        let Work::Transaction(arrived) = sent(Work::Transaction(Box::new(moved))).unwrap().work
        else {
            panic!("a transaction became something else");
        };
        assert_eq!(arrived.across, Some(across));
        assert_eq!(arrived.anchor.as_deref(), Some(&b"k"[..]));
        assert!(arrived.is_bare && matches!(arrived.steps[..], [Step::Command(..)]));
    }
    // A command that is about no other table, and one whose other table is its own.
    let (spec, args) = command(&["rename", "k", "other"]);
    let renamed = Transaction::of_command(spec, args).spanning(across);
    assert!(sent(Work::Transaction(Box::new(renamed))).is_none());
    let (spec, args) = command(&["move", "k", "3"]);
    let own = Across {
        table: SENT_TO,
        ..across
    };
    let moved = Transaction::of_command(spec, args).spanning(own);
    assert!(sent(Work::Transaction(Box::new(moved))).is_none());
}

/// A transaction of these steps.
fn transaction(steps: Vec<Step>) -> Transaction {
    Transaction {
        steps,
        ..Transaction::default()
    }
}

fn script(key_count: usize) -> ScriptCall {
    ScriptCall {
        text: Arc::new(ScriptText::new(b"return 1")),
        function: None,
        words: args(&["key", "argument"]),
        key_count,
        is_read_only: true,
        permit: Permit {
            reads: true,
            writes: false,
            restriction: Some(Restriction {
                user: "ann".to_owned(),
                rules: "+@read".to_owned(),
                declared_only: true,
                channels: vec![b"news.*".to_vec()],
            }),
        },
    }
}

#[test]
fn scripts_arrive_with_what_they_may_do() {
    let sent_script = |call| {
        let alone = Transaction::of_script(call, Some(b"route".to_vec()));
        sent(Work::Transaction(Box::new(alone)))
    };
    let Work::Transaction(arrived) = sent_script(script(1)).unwrap().work else {
        panic!("a transaction became something else");
    };
    assert!(arrived.is_bare);
    assert_eq!(arrived.route.as_deref(), Some(&b"route"[..]));
    let [Step::Script(call)] = &arrived.steps[..] else {
        panic!("a script became something else");
    };
    assert_eq!(call.text.sha, script(1).text.sha);
    assert_eq!(call.keys().collect::<Vec<_>>(), [b"key"]);
    assert_eq!(call.arguments().collect::<Vec<_>>(), [b"argument"]);
    assert_eq!((call.is_read_only, &call.permit), (true, &script(1).permit));
    assert!(call.function.is_none());
    assert!(sent_script(script(3)).is_none(), "more keys than words");
    let called = CalledFunction {
        name: "total".into(),
        allow_oom: true,
    };
    let call = ScriptCall {
        function: Some(called.clone()),
        ..script(1)
    };
    let Work::Transaction(arrived) = sent_script(call).unwrap().work else {
        panic!("a function became something else");
    };
    let [Step::Script(call)] = &arrived.steps[..] else {
        panic!("a function became something else");
    };
    assert_eq!(call.function.as_ref(), Some(&called));
    assert_eq!(
        (&call.text.body, &call.permit),
        (&script(1).text.body, &script(1).permit)
    );
    let (spec, words) = command(&["set", "key", "value"]);
    let two = vec![
        Step::Script(Box::new(script(1))),
        Step::Command(spec, words),
    ];
    let bare = Transaction {
        is_bare: true,
        ..transaction(two)
    };
    assert!(
        sent(Work::Transaction(Box::new(bare))).is_none(),
        "two replies"
    );
}

#[test]
fn a_message_to_a_channel_arrives_as_it_was_published() {
    let from = Member {
        node: NodeId(3),
        brick: BrickId(1),
    };
    let published = Published {
        is_sharded: true,
        channel: b"news".to_vec(),
        message: vec![0, 13, 10],
    };
    let bytes = encode_published(&published);
    match decode(from, &bytes) {
        Some(Message::Published(arrived)) => assert_eq!(arrived, published),
        other => panic!("it became {other:?}"),
    }
    for len in 0..bytes.len() {
        assert!(decode(from, &bytes[..len]).is_none(), "{len} bytes");
    }
}

#[test]
fn steps_of_a_transaction_are_commands_on_keys() {
    for words in [&["ping"][..], &["eval", "return 1", "0"], &["dbsize"]] {
        let (spec, words) = command(words);
        let steps = vec![Step::Command(spec, words)];
        assert!(sent(Work::Transaction(Box::new(transaction(steps)))).is_none());
    }
}

#[test]
fn subcommands_about_a_key_arrive_and_others_do_not() {
    let named = |name: &str| lookup_full(name.as_bytes()).unwrap();
    for (name, words) in [
        ("object|encoding", args(&["object", "encoding", "key"])),
        ("memory|usage", args(&["memory", "usage", "key"])),
    ] {
        let arrived = sent(Work::Command(named(name), words)).unwrap();
        let Work::Command(spec, arguments) = &arrived.work else {
            panic!("{name} became something else");
        };
        assert_eq!((spec.name, arguments.as_args().at(2)), (name, &b"key"[..]));
    }
    let (get, words) = (named("config|get"), args(&["config", "get", "maxclients"]));
    assert!(sent(Work::Command(get, words)).is_none(), "of one node");
}

#[test]
fn what_keeps_no_command_s_rules_is_no_message() {
    let (set, _) = command(&["set", "key", "value"]);
    let (get, key) = command(&["get", "key"]);
    assert!(
        sent(Work::Command(set, args(&["set"]))).is_none(),
        "too short"
    );
    let attempt = Attempt {
        id: RequestId {
            client: 1,
            sequence: 1,
        },
        is_again: false,
        was_lost: false,
    };
    assert!(
        sent(Work::Attempt(attempt, get, key)).is_none(),
        "reads need no id"
    );
    let (config, words) = command(&["config", "get"]);
    assert!(
        sent(Work::Command(config, words)).is_none(),
        "of one connection"
    );
}

#[test]
fn no_part_of_a_message_is_a_message_nor_is_one_with_something_behind() {
    let reply = ForwardReply {
        token: Token {
            connection: ConnectionId(0),
            client: 300,
            placeholder: PlaceholderId(0),
            part: 0,
        },
        bytes: b"$5\r\nvalue\r\n".to_vec(),
        kind: ReplyKind::Misplaced,
    };
    let from = Member::default();
    let mut bytes = encode_reply(&reply);
    let arrived = decode(from, &bytes);
    assert!(
        matches!(arrived, Some(Message::Reply(300, it)) if it.kind == ReplyKind::Misplaced && it.bytes == reply.bytes)
    );
    for len in 0..bytes.len() {
        assert!(decode(from, &bytes[..len]).is_none(), "{len} bytes");
    }
    bytes.push(0);
    assert!(decode(from, &bytes).is_none());
}
