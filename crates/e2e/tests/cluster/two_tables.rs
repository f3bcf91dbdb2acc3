//! Keys that go between the tables of several nodes, while nodes are killed: each is in one table, and what was answered is so.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TABLES: [&str; 2] = ["1", "2"];

/// Of each mover, which alone moves them: so it knows where they are.
const KEYS: usize = 60;

const MOVERS: usize = 4;

fn name(mover: usize, key: usize) -> String {
    format!("k{mover}-{key}")
}

/// Where a key is, as far as its mover knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    In(usize),
    /// It was being moved when its node went, and may be moved yet: nobody moves it any more.
    Unknown,
}

/// What movers have done, while others see to the nodes.
#[derive(Default)]
struct Business {
    moved: AtomicU64,
    is_over: AtomicBool,
}

impl Business {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Connections to one of the nodes, a table each; none if it is over.
    fn connect(&self, ports: &[u16], first: usize) -> Option<[Client; 2]> {
        let enter = |port: u16, table: &str| {
            let mut client = Client::try_connect(port).ok()?;
            let reply = client.try_call(&["SELECT", table]).ok()?;
            reply.is_ok().then_some(client)
        };
        wait_for("a node that serves", || {
            if self.is_over() {
                return Some(None);
            }
            let mut ports = ports.iter().cycle().skip(first).take(ports.len());
            ports.find_map(|port| {
                let clients = [enter(*port, TABLES[0])?, enter(*port, TABLES[1])?];
                Some(Some(clients))
            })
        })
    }

    /// Moves keys to and fro until it is over; where each is then.
    fn go(&self, ports: &[u16], mover: usize) -> Vec<Known> {
        let mut random = Random::new(mover as u64);
        let mut known = vec![Known::In(0); KEYS];
        let (mut first, mut clients) = (mover, None);
        while !self.is_over() {
            if clients.is_none() {
                clients = self.connect(ports, first);
            }
            let Some(connections) = &mut clients else {
                break;
            };
            let key = random.below(KEYS);
            let Known::In(table) = known[key] else {
                continue;
            };
            match self.step(connections, &name(mover, key), table) {
                Some(now) => known[key] = now,
                None => {
                    known[key] = Known::Unknown;
                    clients = None;
                    first += 1;
                }
            }
        }
        known
    }

    /// Moves a key out of a table; `None`: the node is gone.
    fn step(&self, clients: &mut [Client; 2], name: &str, table: usize) -> Option<Known> {
        let reply = clients[table].try_call(&["MOVE", name, TABLES[1 - table]]);
        let reply = reply.ok()?;
        if reply.is_error_with("UNKNOWNRESULT") {
            return Some(Known::Unknown);
        }
        if reply.is_error() {
            // It was not executed.
            return Some(Known::In(table));
        }
        assert_eq!(
            reply.as_integer(),
            Some(1),
            "{name} was in {table}: {reply}"
        );
        self.moved.fetch_add(1, Ordering::SeqCst);
        Some(Known::In(1 - table))
    }

    fn wait_for_more(&self, count: u64) {
        let before = self.moved.load(Ordering::SeqCst);
        wait_for("more moves", || {
            (self.moved.load(Ordering::SeqCst) >= before + count).then_some(())
        });
    }
}

/// In which tables a key is; `None`: one of them could not be asked.
fn look(clients: &mut [Client; 2], name: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for (table, client) in clients.iter_mut().enumerate() {
        let reply = client.try_call(&["GET", name]).ok()?;
        if reply.is_error() {
            return None;
        }
        if !reply.is_null() {
            assert_eq!(reply.text(), format!("value of {name}"));
            found.push(table);
        }
    }
    Some(found)
}

#[test]
fn kills_leave_no_key_in_two_tables_or_in_none() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    for table in TABLES {
        cluster.create_table(table, &["REPLICAS", "2", "PARTITIONS", "8"]);
        cluster.wait_until_whole(table, 2);
    }
    let mut client = cluster.table(0, TABLES[0]).unwrap();
    for mover in 0..MOVERS {
        for key in 0..KEYS {
            let name = name(mover, key);
            client.must(&["SET", &name, &format!("value of {name}")]);
        }
    }
    let ports: Vec<u16> = (0..3).map(|at| cluster.port(at)).collect();
    let (ports, business) = (&ports[..], &Business::default());
    let known: Vec<Vec<Known>> = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..MOVERS)
            .map(|mover| scope.spawn(move || business.go(ports, mover)))
            .collect();
        {
            let _closing = Closing(business);
            for at in 0..3 {
                business.wait_for_more(100);
                cluster.kill(at);
                business.wait_for_more(100);
                cluster.launch(at);
                cluster.wait_until_formed();
                for table in TABLES {
                    cluster.wait_until_whole(table, 2);
                }
            }
        }
        movers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for at in 0..3 {
        let mut clients = TABLES.map(|table| cluster.table(at, table).unwrap());
        for (mover, known) in known.iter().enumerate() {
            for (key, known) in known.iter().enumerate() {
                let name = name(mover, key);
                let found = wait_for("the key to be in one table", || {
                    let found = look(&mut clients, &name)?;
                    (found.len() == 1).then(|| found[0])
                });
                let is_right = *known == Known::Unknown || *known == Known::In(found);
                assert!(is_right, "{name} is in {found}, and was {known:?}");
                // And whoever writes it need not wait for anybody.
                let reply = clients[found].call(&["EXPIRE", &name, "1000"]);
                assert_eq!(reply.as_integer(), Some(1), "{name}: {reply}");
            }
        }
    }
    println!("{} moves", business.moved.load(Ordering::SeqCst));
}

/// Ends the business also where what sees to the nodes has failed.
struct Closing<'a>(&'a Business);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}
