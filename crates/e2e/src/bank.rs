//! A bank whose accounts are keys of several slots: what distributed transactions promise, as sums that hold and marks that tell.
//!
//! In:  connections by which money is transferred, and what each was answered. Out: a verdict on what the accounts hold.
//!
//! A transfer takes from one account, gives to another and leaves a mark of its own for either; each of the four keys is in a
//! slot of its own. The marks say what has happened whatever was answered.
//!
//! Invariants:
//! - A transfer has a number of its own and is sent once, so its marks are nobody else's.
//! - An error promises that nothing was executed, except for `UNKNOWNRESULT` and a connection that breaks.

use crate::client::{Client, encode};
use crate::random::Random;
use crate::value::Value;
use std::io;

/// How many accounts there are.
pub const ACCOUNTS: usize = 16;

/// What each of them has at first.
pub const OPENING: i64 = 1_000;

/// What a script does of a transfer; of its keys two are accounts and two are marks.
const SCRIPT: &str = "redis.call('decrby', KEYS[1], ARGV[1]) redis.call('incrby', KEYS[2], ARGV[1]) \
                      redis.call('set', KEYS[3], 'left') redis.call('set', KEYS[4], 'came') return redis.call('get', KEYS[1])";

/// The key of an account.
#[must_use]
pub fn account(number: usize) -> String {
    format!("account:{number}")
}

/// By what commands money is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `MULTI`, increments, `EXEC`, all sent at once.
    Queued,
    /// `WATCH`, what both accounts have, `MULTI`, what they shall have, `EXEC`.
    Watched,
    /// A script.
    Scripted,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Queued, Self::Watched, Self::Scripted];
}

/// Some money that is to go from one account to another.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Its own number.
    pub number: u64,
    /// The account that has less afterwards.
    pub from: usize,
    /// The account that has more.
    pub to: usize,
    /// How much.
    pub amount: i64,
}

/// What is known of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has happened.
    Done,
    /// It has not, and does not any more: it was refused, or a watched account had changed.
    NotDone,
    /// Either.
    Unknown,
}

impl Transfer {
    /// A transfer between two different accounts.
    pub fn random(number: u64, random: &mut Random) -> Self {
        let from = random.below(ACCOUNTS);
        Self {
            number,
            from,
            to: (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS,
            amount: random.within(1, 100),
        }
    }

    /// Its two marks.
    #[must_use]
    pub fn marks(&self) -> [String; 2] {
        ["left", "came"].map(|side| format!("{side}:{}", self.number))
    }

    /// Sends it.
    ///
    /// # Panics
    /// If an answer makes no sense.
    pub fn send(&self, client: &mut Client, way: Way) -> Outcome {
        let reply = match way {
            Way::Queued => self.queued(client),
            Way::Watched => self.watched(client),
            Way::Scripted => self.scripted(client),
        };
        match reply {
            Err(_) => Outcome::Unknown,
            Ok(reply) if reply.is_error_with("UNKNOWNRESULT") => Outcome::Unknown,
            Ok(reply) if reply.is_error() || reply.is_null() => Outcome::NotDone,
            Ok(reply) => {
                let failed = reply.items().unwrap_or_default().iter();
                let failed: Vec<&Value> = failed.filter(|it| it.is_error()).collect();
                assert!(failed.is_empty(), "{self:?} was answered with {reply}");
                Outcome::Done
            }
        }
    }

    fn queued(&self, client: &mut Client) -> io::Result<Value> {
        let amount = self.amount.to_string();
        let [left, came] = self.marks();
        let commands = [
            ["DECRBY", &account(self.from), &amount],
            ["INCRBY", &account(self.to), &amount],
            ["SET", &left, "left"],
            ["SET", &came, "came"],
        ];
        execute(client, &commands)
    }

    fn watched(&self, client: &mut Client) -> io::Result<Value> {
        let (from, to) = (account(self.from), account(self.to));
        let watched = client.try_call(&["WATCH", &from, &to])?;
        if !watched.is_ok() {
            return Ok(watched);
        }
        let mut balances = [0; 2];
        for (balance, key) in balances.iter_mut().zip([&from, &to]) {
            let reply = client.try_call(&["GET", key])?;
            if reply.is_error() {
                client.try_call(&["UNWATCH"])?;
                return Ok(reply);
            }
            *balance = number(&reply);
        }
        let [left, came] = self.marks();
        let commands = [
            ["SET", &from, &(balances[0] - self.amount).to_string()],
            ["SET", &to, &(balances[1] + self.amount).to_string()],
            ["SET", &left, "left"],
            ["SET", &came, "came"],
        ];
        execute(client, &commands)
    }

    fn scripted(&self, client: &mut Client) -> io::Result<Value> {
        let [left, came] = self.marks();
        let (from, to, amount) = (
            account(self.from),
            account(self.to),
            self.amount.to_string(),
        );
        client.try_call(&["EVAL", SCRIPT, "4", &from, &to, &left, &came, &amount])
    }
}

/// Sends a transaction at once; what `EXEC` was answered with, or the error that kept it from that.
fn execute<A: AsRef<[u8]>, const WORDS: usize>(
    client: &mut Client,
    commands: &[[A; WORDS]],
) -> io::Result<Value> {
    let mut request = Vec::new();
    encode(&mut request, &["MULTI"]);
    for command in commands {
        encode(&mut request, command);
    }
    encode(&mut request, &["EXEC"]);
    client.send_raw(&request)?;
    // `EXEC` itself says what became of it, also after an error in front of it.
    for _ in 0..=commands.len() {
        client.receive()?;
    }
    client.receive()
}

/// Opens all accounts.
///
/// # Panics
/// If they cannot be written.
pub fn open(client: &mut Client) {
    for number in 0..ACCOUNTS {
        client.must(&["SET", &account(number), &OPENING.to_string()]);
    }
}

/// What all accounts hold at one moment, or the error.
///
/// # Errors
/// If the connection is gone.
///
/// # Panics
/// If an account holds no number.
pub fn try_balances(client: &mut Client) -> io::Result<Result<Vec<i64>, Value>> {
    let accounts: Vec<String> = (0..ACCOUNTS).map(account).collect();
    let commands: Vec<[&str; 2]> = accounts.iter().map(|it| ["GET", it]).collect();
    let reply = execute(client, &commands)?;
    Ok(match reply.items() {
        Some(items) => Ok(items.iter().map(number).collect()),
        None => Err(reply),
    })
}

/// Whether what is there is what these transfers have come to, with nothing half done.
///
/// # Panics
/// If it is not.
pub fn audit(client: &mut Client, transfers: &[(Transfer, Outcome)]) {
    // All of one moment: of a transfer of which nothing is known it may be the one before.
    let mut request = Vec::new();
    encode(&mut request, &["MULTI"]);
    for (transfer, _) in transfers {
        let [left, came] = transfer.marks();
        encode(&mut request, &["MGET", &left, &came]);
    }
    let accounts: Vec<String> = (0..ACCOUNTS).map(account).collect();
    let accounts = accounts.iter().map(String::as_str);
    let accounts: Vec<&str> = std::iter::once("MGET").chain(accounts).collect();
    encode(&mut request, &accounts);
    encode(&mut request, &["EXEC"]);
    client.send_raw(&request).expect("the requests are taken");
    for _ in 0..transfers.len() + 2 {
        client.receive().expect("a reply");
    }
    let reply = client.receive().expect("a reply");
    let Some([marks @ .., balances]) = reply.items() else {
        panic!("the bank cannot be read: {reply}");
    };
    assert_eq!(marks.len(), transfers.len());
    let mut expected = [OPENING; ACCOUNTS];
    for ((transfer, outcome), marks) in transfers.iter().zip(marks) {
        let marks = marks.to_string();
        let has_happened = match marks.as_str() {
            r#"["left", "came"]"# => true,
            "[$-1, $-1]" => false,
            _ => panic!("half of {transfer:?}, which was {outcome:?}: its marks are {marks}"),
        };
        match outcome {
            Outcome::Done => assert!(has_happened, "{transfer:?} was done, and is not there"),
            Outcome::NotDone => assert!(!has_happened, "{transfer:?} was refused, and is there"),
            Outcome::Unknown => {}
        }
        if has_happened {
            expected[transfer.from] -= transfer.amount;
            expected[transfer.to] += transfer.amount;
        }
    }
    let balances = balances.items().unwrap_or_default().iter();
    let balances: Vec<i64> = balances.map(number).collect();
    assert_eq!(balances, expected, "accounts and marks do not agree");
}

/// The number that a key holds.
fn number(reply: &Value) -> i64 {
    let text = reply.text();
    let number = text.parse();
    number.unwrap_or_else(|_| panic!("'{text}' is no number"))
}
