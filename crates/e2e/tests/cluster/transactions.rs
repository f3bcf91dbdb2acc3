//! Transactions over several slots of several nodes: through any node, and while nodes are killed.

use brickyard_e2e::bank::{self, ACCOUNTS, OPENING, Outcome, Transfer, Way};
use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::value::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: usize = 4;

fn start(replicas: &'static str) -> Cluster {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", replicas, "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", replicas.parse().unwrap());
    cluster
}

#[test]
fn commands_over_several_slots_are_answered_by_any_node() {
    let cluster = start("2");
    let mut clients: Vec<Client> = (0..3).map(|at| cluster.table(at, "t").unwrap()).collect();
    let story = [
        ("MSETNX a 1 b 2", ":1"),
        ("MSETNX c 3 a 4", ":0"),
        ("MGET a b c", r#"["1", "2", $-1]"#),
        ("RENAME a c", "+OK"),
        ("RENAME a c", "-ERR no such key"),
        ("RENAMENX c b", ":0"),
        ("COPY c d", ":1"),
        ("BITOP OR e b c", ":1"),
        ("GET e", r#""3""#),
        ("LCS c d", r#""1""#),
        ("HSET h f v", ":1"),
        ("RENAME h i", "+OK"),
        ("HGETALL i", r#"["f", "v"]"#),
        ("MGET a b c d e", r#"[$-1, "2", "1", "1", "3"]"#),
    ];
    for round in 0..9 {
        for (at, (line, expected)) in story.iter().enumerate() {
            let reply = clients[(round + at) % 3].line(line).to_string();
            assert_eq!(reply, *expected, "{line}, round {round}");
        }
        // Each is the first to ask now and then, of keys whose primaries are elsewhere.
        let client = &mut clients[round % 3];
        client.must(&["MULTI"]);
        client.line("MGET b c");
        client.line("INCR b");
        client.line("INCR i");
        client.line("DEL a b c d e i");
        let reply = client.line("EXEC").to_string();
        let expected = r#"[["2", "1"], :3, -WRONGTYPE Operation against a key holding the wrong kind of value, :5]"#;
        assert_eq!(reply, expected, "round {round}");
        let script = "return {redis.call('incr', KEYS[1]), redis.call('incr', KEYS[2])}";
        let client = &mut clients[(round + 1) % 3];
        let reply = client.call(&["EVAL", script, "2", "x", "y"]).to_string();
        assert_eq!(reply, format!("[:{0}, :{0}]", round + 1));
    }
}

/// Values of several kilobytes, which no node has room for before it has asked.
#[test]
fn long_values_go_from_node_to_node() {
    let cluster = start("2");
    let mut clients: Vec<Client> = (0..3).map(|at| cluster.table(at, "t").unwrap()).collect();
    let value = |number: usize| format!("{number}:{}", "v".repeat(20_000));
    for number in 0..30 {
        let [a, b, c] = ["a", "b", "c"].map(|it| format!("{it}{number}"));
        let client = &mut clients[number % 3];
        client.must(&["SET", &a, &value(number)]);
        client.must(&["SET", &b, &value(number + 1)]);
        client.must(&["RENAME", &a, &c]);
        client.must(&["MULTI"]);
        client.call(&["GET", &b]);
        client.call(&["GET", &c]);
        client.call(&["COPY", &b, &a]);
        let reply = client.line("EXEC");
        let Some(found) = reply.items() else {
            panic!("{a}: {reply}");
        };
        let found: Vec<String> = found.iter().map(Value::text).collect();
        assert_eq!(found, [value(number + 1), value(number), ":1".to_owned()]);
        let reply = clients[(number + 1) % 3].call(&["GET", &a]);
        assert_eq!(reply.text(), value(number + 1), "{a}");
    }
}

#[test]
fn watched_keys_are_written_at_another_node() {
    let cluster = start("3");
    let mut clients: Vec<Client> = (0..3).map(|at| cluster.table(at, "t").unwrap()).collect();
    for round in 0..60 {
        let [watcher, writer] = [round % 3, (round + 1 + round / 3 % 2) % 3];
        let is_changed = round % 4 < 2;
        clients[watcher].must(&["WATCH", "a", "b", "c"]);
        let line = ["MULTI; SET d 1; EXEC", "MULTI; SET b 1; SET d 1; EXEC"];
        for line in line[usize::from(is_changed)].split("; ") {
            clients[writer].line(line);
        }
        let client = &mut clients[watcher];
        client.must(&["MULTI"]);
        client.line("INCR x");
        client.line("INCR y");
        let reply = client.line("EXEC");
        assert_eq!(reply.is_null(), is_changed, "round {round}: {reply}");
        assert!(!reply.is_error(), "round {round}: {reply}");
    }
    let counts = clients[0].line("MGET x y").to_string();
    assert_eq!(counts, r#"["30", "30"]"#);
}

/// Whether a key that did not exist has come and gone its primary knows, whichever node is asked, and though all that the transaction does is
/// to read.
#[test]
fn a_key_that_does_not_exist_is_watched_at_any_node() {
    let cluster = start("2");
    for node in 0..3 {
        let mut client = cluster.table(node, "t").unwrap();
        for number in 0..20 {
            let key = format!("key:{number}");
            for is_changed in [false, true] {
                client.must(&["WATCH", &key]);
                if is_changed {
                    let mut writer = cluster.table((node + 1) % 3, "t").unwrap();
                    writer.line(&format!("SET {key} 1"));
                    writer.line(&format!("DEL {key}"));
                }
                client.must(&["MULTI"]);
                client.line(&format!("GET {key}"));
                let reply = client.line("EXEC");
                assert!(!reply.is_error(), "node {node}, {key}: {reply}");
                assert_eq!(reply.is_null(), is_changed, "node {node}, {key}: {reply}");
            }
        }
    }
}

/// What the clients of a bank have done, while others see to its nodes.
#[derive(Default)]
struct Business {
    next: AtomicU64,
    done: AtomicU64,
    made: Mutex<Vec<(Transfer, Outcome)>>,
    is_over: AtomicBool,
}

/// Ends the business also where what sees to the nodes has failed.
struct Closing<'a>(&'a Business);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

impl Business {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// A connection to one of the nodes, beginning with this one; none if the business is over.
    fn connect(&self, ports: &[u16], first: usize) -> Option<Client> {
        wait_for("a node that serves", || {
            if self.is_over() {
                return Some(None);
            }
            let mut ports = ports.iter().cycle().skip(first).take(ports.len());
            ports.find_map(|port| {
                let mut client = Client::try_connect(*port).ok()?;
                let reply = client.try_call(&["TABLE", "USE", "t"]).ok()?;
                reply.is_ok().then_some(Some(client))
            })
        })
    }

    /// Transfers money until it is over.
    fn transfer(&self, ports: &[u16], writer: usize) {
        let mut random = Random::new(writer as u64);
        let (mut first, mut client, mut other) = (writer, None, None);
        while !self.is_over() {
            if client.is_none() {
                client = self.connect(ports, first);
            }
            let Some(connection) = &mut client else {
                return;
            };
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let transfer = Transfer::random(number, &mut random);
            let way = Way::ALL[random.below(Way::ALL.len())];
            let outcome = transfer.send(connection, way);
            self.made.lock().unwrap().push((transfer, outcome));
            match outcome {
                Outcome::Done => {
                    self.done.fetch_add(1, Ordering::SeqCst);
                    self.look(&transfer, &mut other, ports, first + 1);
                }
                Outcome::NotDone => {}
                Outcome::Unknown => {
                    client = None;
                    first += 1;
                }
            }
        }
    }

    /// What was done is seen through any node from then on.
    fn look(&self, transfer: &Transfer, client: &mut Option<Client>, ports: &[u16], first: usize) {
        if client.is_none() {
            *client = self.connect(ports, first);
        }
        let Some(connection) = client else {
            return;
        };
        for mark in transfer.marks() {
            match connection.try_call(&["GET", &mark]) {
                Ok(reply) => assert!(
                    !reply.is_null(),
                    "{transfer:?} was done, and {mark} is not there"
                ),
                Err(_) => {
                    *client = None;
                    return;
                }
            }
        }
    }

    /// Counts the money until it is over; how often it could.
    fn count(&self, ports: &[u16]) -> u64 {
        let mut counts = 0;
        let (mut first, mut client) = (0, None);
        while !self.is_over() {
            if client.is_none() {
                client = self.connect(ports, first);
            }
            let Some(connection) = &mut client else {
                break;
            };
            match bank::try_balances(connection) {
                Ok(Ok(balances)) => {
                    let sum: i64 = balances.iter().sum();
                    assert_eq!(sum, OPENING * ACCOUNTS as i64, "{balances:?}");
                    counts += 1;
                }
                Ok(Err(_)) => {}
                Err(_) => {
                    client = None;
                    first += 1;
                }
            }
        }
        counts
    }

    /// Waits until so many more transfers were made.
    fn wait_for_more(&self, count: u64) {
        let before = self.done.load(Ordering::SeqCst);
        wait_for("more transfers", || {
            (self.done.load(Ordering::SeqCst) >= before + count).then_some(())
        });
    }

    /// Writes every key that any transaction so far has had: none stays locked.
    fn write_all(&self, cluster: &Cluster) {
        let transfers = self.made.lock().unwrap();
        let marks = transfers.iter().flat_map(|(transfer, _)| transfer.marks());
        // What is not there stays so, but has to be free to say it.
        let marks = marks.map(|mark| {
            vec![
                "SET".to_owned(),
                mark.clone(),
                value_of(&mark),
                "XX".to_owned(),
            ]
        });
        let accounts = (0..ACCOUNTS).map(|it| {
            ["INCRBY", &bank::account(it), "0"]
                .map(str::to_owned)
                .to_vec()
        });
        let mut left: Vec<Vec<String>> = accounts.chain(marks).collect();
        drop(transfers);
        wait_for("every key to be written", || {
            let mut client = cluster.table(cluster.running()[0], "t").ok()?;
            let mut request = Vec::new();
            left.iter().for_each(|it| encode(&mut request, it));
            client.send_raw(&request).ok()?;
            let mut refused = Vec::new();
            let mut all = std::mem::take(&mut left).into_iter();
            for write in all.by_ref() {
                match client.receive() {
                    Ok(reply) if !reply.is_error() => {}
                    Ok(_) => refused.push(write),
                    Err(_) => {
                        refused.push(write);
                        break;
                    }
                }
            }
            left = refused.into_iter().chain(all).collect();
            left.is_empty().then_some(())
        });
    }
}

/// What a mark says, which is what its name begins with.
fn value_of(mark: &str) -> String {
    mark.split(':').next().unwrap_or_default().to_owned()
}

/// Does business while somebody sees to the nodes, and looks at what has come of it.
fn do_business(mut cluster: Cluster, replicas: usize, see: impl FnOnce(&mut Cluster, &Business)) {
    bank::open(&mut cluster.table(0, "t").unwrap());
    let ports: Vec<u16> = (0..3).map(|at| cluster.port(at)).collect();
    let (ports, business) = (&ports[..], &Business::default());
    let counts = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || business.transfer(ports, writer));
        }
        let counter = scope.spawn(move || business.count(ports));
        {
            let _closing = Closing(business);
            see(&mut cluster, business);
        }
        counter.join().unwrap()
    });
    cluster.wait_until_whole("t", replicas);
    business.write_all(&cluster);
    let made = business.made.lock().unwrap();
    for at in 0..3 {
        bank::audit(&mut cluster.table(at, "t").unwrap(), &made);
    }
    let all_of = |outcome| made.iter().filter(|it| it.1 == outcome).count();
    println!(
        "{} transfers made, {} refused, {} unknown; counted {counts} times",
        all_of(Outcome::Done),
        all_of(Outcome::NotDone),
        all_of(Outcome::Unknown)
    );
    assert!(counts > 0, "the money was never counted");
}

fn kill_one_after_the_other(cluster: &mut Cluster, business: &Business, replicas: usize) {
    for at in 0..3 {
        business.wait_for_more(100);
        cluster.kill(at);
        business.write_all(cluster);
        business.wait_for_more(100);
        cluster.launch(at);
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", replicas);
    }
}

#[test]
fn kills_leave_no_transfer_half_done_with_two_copies() {
    do_business(start("2"), 2, |cluster, business| {
        kill_one_after_the_other(cluster, business, 2);
    });
}

#[test]
fn kills_leave_no_transfer_half_done_with_three_copies() {
    do_business(start("3"), 3, |cluster, business| {
        kill_one_after_the_other(cluster, business, 3);
    });
}

#[test]
fn a_kill_of_all_nodes_leaves_no_transfer_half_done() {
    do_business(start("3"), 3, |cluster, business| {
        for _ in 0..2 {
            business.wait_for_more(100);
            for at in 0..3 {
                cluster.kill(at);
            }
            for at in [1, 2, 0] {
                cluster.launch(at);
            }
            cluster.wait_until_formed();
            business.write_all(cluster);
            business.wait_for_more(50);
        }
    });
}
