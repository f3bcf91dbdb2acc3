//! Whether what clients saw could have happened at one instant each, in an order.
//!
//! An object is a few keys with one tag. Of each object every state that it may be in is followed through the
//! history (Wing & Gong, 1993): an operation takes effect at some instant between its request and its reply,
//! or, if nobody knows its outcome, at any time after its request, or never.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Keys of one object.
pub(super) const KEYS: usize = 2;

type Values = [Option<Rc<str>>; KEYS];

/// The same by numbers, so that many can be compared; 0: none.
type State = [u32; KEYS];

/// What one command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Get(usize),
    Set(usize, String),
    Setnx(usize, String),
    Getdel(usize),
    Append(usize, String),
    Incr(usize),
    Del(usize),
    /// The value's time has come.
    Expire(usize, String),
    /// The whole table was emptied, or was lost.
    Clear,
}

impl Step {
    pub(super) fn only_reads(&self) -> bool {
        matches!(self, Self::Get(_))
    }

    /// The key; `None`: all of them.
    fn key(&self) -> Option<usize> {
        match self {
            Self::Get(key)
            | Self::Set(key, _)
            | Self::Setnx(key, _)
            | Self::Getdel(key)
            | Self::Append(key, _)
            | Self::Incr(key)
            | Self::Del(key)
            | Self::Expire(key, _) => Some(*key),
            Self::Clear => None,
        }
    }
}

impl Operation {
    fn shares_key(&self, other: &Self) -> bool {
        let mut pairs = self
            .steps
            .iter()
            .flat_map(|step| other.steps.iter().map(move |it| (step, it)));
        pairs.any(|(one, other)| match (one.key(), other.key()) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        })
    }

    /// Whether anybody could tell if it never was.
    fn matters(&self) -> bool {
        let is_told = self.reply.is_some();
        !self.is_refused && (is_told || !self.steps.iter().all(Step::only_reads))
    }
}

/// One command, or a transaction.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) steps: Vec<Step>,
    pub(super) is_transaction: bool,
    /// The same connection sent this one before; it takes effect before.
    pub(super) after: Option<usize>,
    /// What was replied; `None`: nobody knows.
    pub(super) reply: Option<String>,
    /// It was refused: it never takes effect.
    pub(super) is_refused: bool,
    pub(super) told: String,
}

#[derive(Clone, Copy, Debug)]
enum Moment {
    Sent(usize),
    Answered(usize),
}

/// What happened to one object.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) operations: Vec<Operation>,
    moments: Vec<Moment>,
    /// What it had may be lost: it is not looked at any more.
    pub(super) is_void: bool,
}

fn bulk(value: Option<&str>) -> String {
    value.map_or_else(|| "$-1".to_owned(), |it| format!("${} {it}", it.len()))
}

fn apply(state: &mut Values, step: &Step) -> String {
    match step {
        Step::Get(key) => bulk(state[*key].as_deref()),
        Step::Set(key, value) => {
            state[*key] = Some(value.as_str().into());
            "+OK".to_owned()
        }
        Step::Setnx(key, value) => {
            let is_free = state[*key].is_none();
            if is_free {
                state[*key] = Some(value.as_str().into());
            }
            format!(":{}", u8::from(is_free))
        }
        Step::Getdel(key) => bulk(state[*key].take().as_deref()),
        Step::Append(key, value) => {
            let whole = state[*key].as_deref().unwrap_or_default().to_owned() + value;
            let len = whole.len();
            state[*key] = Some(whole.into());
            format!(":{len}")
        }
        Step::Incr(key) => {
            let number = state[*key].as_deref().unwrap_or("0").parse::<i64>();
            match number {
                Ok(number) => {
                    state[*key] = Some((number + 1).to_string().into());
                    format!(":{}", number + 1)
                }
                Err(_) => "-ERR value is not an integer or out of range".to_owned(),
            }
        }
        Step::Del(key) => format!(":{}", u8::from(state[*key].take().is_some())),
        Step::Expire(key, value) => {
            // What was appended since keeps the time of what it was appended to.
            let is_it = state[*key]
                .as_ref()
                .is_some_and(|it| it.starts_with(value.as_str()));
            if is_it {
                state[*key] = None;
            }
            String::new()
        }
        Step::Clear => {
            *state = Values::default();
            "+OK".to_owned()
        }
    }
}

fn apply_all(state: &mut Values, operation: &Operation) -> String {
    let replies: Vec<String> = operation.steps.iter().map(|it| apply(state, it)).collect();
    if operation.is_transaction {
        format!("*{} {}", replies.len(), replies.join(" "))
    } else {
        replies.concat()
    }
}

/// A way in which things may have gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    state: State,
    /// Sent, and not in effect; in order.
    open: Vec<usize>,
}

/// What operations do to states, found out once.
#[derive(Default)]
struct Outcomes {
    values: Vec<Rc<str>>,
    numbers: BTreeMap<Rc<str>, u32>,
    /// The state after it, and whether the reply is the one that was seen.
    known: BTreeMap<(State, usize), (State, bool)>,
}

impl Outcomes {
    fn of(&mut self, state: State, id: usize, operation: &Operation) -> (State, bool) {
        if let Some(known) = self.known.get(&(state, id)) {
            return *known;
        }
        let value = |number: u32| {
            let at = (number as usize).checked_sub(1)?;
            self.values.get(at).cloned()
        };
        let mut values = state.map(value);
        let reply = apply_all(&mut values, operation);
        let after = values.map(|value| value.map_or(0, |value| self.number(value)));
        // What nobody was told of need not be over if it changes nothing.
        let fits = match &operation.reply {
            Some(told) => *told == reply,
            None => after != state,
        };
        self.known.insert((state, id), (after, fits));
        (after, fits)
    }

    fn number(&mut self, value: Rc<str>) -> u32 {
        let next = self.values.len() as u32 + 1;
        let number = *self.numbers.entry(Rc::clone(&value)).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }
}

/// More ways than these are not followed.
const WAYS_MAX: usize = 20_000;

impl History {
    pub(super) fn send(&mut self, operation: Operation) -> usize {
        self.operations.push(operation);
        let id = self.operations.len() - 1;
        self.moments.push(Moment::Sent(id));
        id
    }

    pub(super) fn answer(&mut self, id: usize, reply: &str) {
        self.operations[id].told = reply.to_owned();
        let is_unknown = reply.starts_with("-UNKNOWNRESULT");
        let is_refused = reply.starts_with('-') && !is_unknown;
        self.operations[id].is_refused = is_refused;
        if !is_unknown && !is_refused {
            self.operations[id].reply = Some(reply.to_owned());
            self.moments.push(Moment::Answered(id));
        }
    }

    /// Whether there is a way; else the story up to where there is none. `None`: too many to know.
    pub(super) fn judge(&self) -> Option<Result<(), String>> {
        let start = Way {
            state: State::default(),
            open: Vec::new(),
        };
        let mut ways = BTreeSet::from([start]);
        let mut outcomes = Outcomes::default();
        for (at, moment) in self.moments.iter().enumerate() {
            match *moment {
                Moment::Sent(id) => {
                    if self.operations[id].matters() {
                        let add = |mut way: Way| {
                            way.open.push(id);
                            way
                        };
                        ways = ways.into_iter().map(add).collect();
                    }
                }
                Moment::Answered(id) => {
                    ways = self.through(ways, id, &mut outcomes)?;
                    if ways.is_empty() {
                        return Some(Err(self.story(at)));
                    }
                }
            }
        }
        Some(Ok(()))
    }

    /// The ways on which the operation has taken effect with the reply that was seen.
    fn through(
        &self,
        ways: BTreeSet<Way>,
        id: usize,
        outcomes: &mut Outcomes,
    ) -> Option<BTreeSet<Way>> {
        let mut done = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut todo: Vec<Way> = ways.into_iter().collect();
        while let Some(way) = todo.pop() {
            if !way.open.contains(&id) {
                done.insert(way);
                continue;
            }
            if seen.len() > WAYS_MAX {
                return None;
            }
            for (at, &next) in way.open.iter().enumerate() {
                let operation = &self.operations[next];
                // PROTOCOL rule 26: what one connection sends without waiting is in order key by key.
                let waits = operation.after.is_some_and(|after| {
                    let before = &self.operations[after];
                    before.shares_key(operation)
                        && before.reply.is_some()
                        && way.open.contains(&after)
                });
                if waits {
                    continue;
                }
                let (state, fits) = outcomes.of(way.state, next, operation);
                if !fits {
                    continue;
                }
                let mut open = way.open.clone();
                open.remove(at);
                let on = Way { state, open };
                if seen.insert(on.clone()) {
                    todo.push(on);
                }
            }
        }
        Some(self.without_needless(done))
    }

    /// Drops ways on which something that nobody was told of was done for nothing: the same came of it where
    /// it may yet be done.
    fn without_needless(&self, ways: BTreeSet<Way>) -> BTreeSet<Way> {
        let is_told = |id: &usize| self.operations[*id].reply.is_some();
        let mut kept: BTreeMap<(State, Vec<usize>), Vec<Vec<usize>>> = BTreeMap::new();
        for way in ways {
            let (told, untold): (Vec<_>, Vec<_>) = way.open.into_iter().partition(is_told);
            let others = kept.entry((way.state, told)).or_default();
            let is_in = |one: &[usize], other: &[usize]| one.iter().all(|it| other.contains(it));
            if !others.iter().any(|other| is_in(&untold, other)) {
                others.retain(|other| !is_in(other, &untold));
                others.push(untold);
            }
        }
        let ways = kept.into_iter().flat_map(|((state, told), all)| {
            all.into_iter().map(move |untold| {
                let mut open = [told.clone(), untold].concat();
                open.sort_unstable();
                Way { state, open }
            })
        });
        ways.collect()
    }

    fn story(&self, upto: usize) -> String {
        let mut out = String::new();
        for moment in &self.moments[..=upto] {
            match moment {
                Moment::Sent(id) => {
                    let it = &self.operations[*id];
                    out += &format!(
                        "  {id} sent {:?} after {:?}: {}\n",
                        it.steps, it.after, it.told
                    );
                }
                Moment::Answered(id) => {
                    out += &format!("  {id} answered {}\n", self.operations[*id].told);
                }
            }
        }
        out
    }
}

/// Histories by object.
pub(super) type Histories = BTreeMap<String, History>;
