//! What clients ask for.

use super::clients::{Clients, Expected, render};
use super::history::{KEYS, Step};
use super::scenario::Scenario;
use super::world::{SKEW_MS, World};

/// How it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    One,
    /// Two without waiting.
    Pair,
    Transaction,
    /// One command that reads several keys.
    Many,
    /// With an id, if it writes.
    Named,
    /// A value that expires soon.
    Brief,
    /// The whole table is emptied.
    Clear,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Set,
    Setnx,
    Getdel,
    Append,
    Incr,
    Del,
}

/// One of these, each as likely as it says.
fn draw<T: Copy>(of: &[(T, usize)], world: &mut World) -> Option<T> {
    let mut drawn = world.below(of.iter().map(|it| it.1).sum());
    let found = of.iter().find(|(_, weight)| {
        let is_it = drawn < *weight;
        drawn = drawn.saturating_sub(*weight);
        is_it
    });
    found.map(|it| it.0)
}

impl Clients {
    fn value(&mut self) -> String {
        self.values += 1;
        format!("<{}>", self.values)
    }

    /// The second key of an object is a number.
    fn step(&mut self, at: usize, world: &mut World) -> Step {
        let Some(scenario) = world.scenario else {
            return self.usual_step(world);
        };
        if self.only_reads(at) || world.one_in(world.mood.reads) {
            return Step::Get(world.below(KEYS));
        }
        match draw(scenario.verbs, world) {
            Some(Verb::Set) => Step::Set(0, self.value()),
            Some(Verb::Setnx) => Step::Setnx(0, self.value()),
            Some(Verb::Getdel) => Step::Getdel(0),
            Some(Verb::Append) => Step::Append(0, self.value()),
            Some(Verb::Incr) => Step::Incr(1),
            Some(Verb::Del) => Step::Del(world.below(KEYS)),
            Some(Verb::Get) | None => Step::Get(world.below(KEYS)),
        }
    }

    fn usual_step(&mut self, world: &mut World) -> Step {
        if world.edition >= 3 && world.one_in(world.mood.reads) {
            return Step::Get(world.below(KEYS));
        }
        if world.one_in(3) {
            return if world.one_in(3) {
                Step::Get(1)
            } else {
                Step::Incr(1)
            };
        }
        match world.below(12) {
            0..4 => Step::Get(0),
            4..7 => Step::Set(0, self.value()),
            7 => Step::Setnx(0, self.value()),
            8 => Step::Getdel(0),
            9 | 10 => Step::Append(0, self.value()),
            _ => Step::Del(world.below(KEYS)),
        }
    }

    fn form(&self, at: usize, scenario: Option<&Scenario>, world: &mut World) -> Form {
        const READING: &[(Form, usize)] =
            &[(Form::One, 2), (Form::Many, 2), (Form::Transaction, 1)];
        match scenario {
            Some(_) if self.only_reads(at) => draw(READING, world).unwrap_or(Form::One),
            Some(scenario) => draw(scenario.forms, world).unwrap_or(Form::One),
            None => match world.below(40) {
                0 => Form::Clear,
                1..4 => Form::Transaction,
                4..8 => Form::Brief,
                8..16 => Form::Pair,
                _ if world.edition >= 3 => Form::Named,
                _ => Form::One,
            },
        }
    }

    /// A client asks for something.
    pub(super) fn ask_one(&mut self, at: usize, world: &mut World) {
        let table = self.table(at).to_owned();
        let object = format!("{{{table}:{}}}", world.below(self.objects));
        match self.form(at, world.scenario, world) {
            Form::Clear => self.ask_to_clear(at, &table, world),
            Form::Transaction => self.ask_transaction(at, object, world),
            Form::Brief => self.ask_brief(at, object, world),
            Form::Many => {
                let steps = (0..KEYS).map(Step::Get).collect();
                let keys = (0..KEYS).map(|key| format!(" {object}{key}"));
                let text = format!("MGET{}", keys.collect::<String>());
                self.send(at, &text, vec![object], steps, None, true, world);
            }
            Form::Pair => {
                let first = self.step(at, world);
                self.ask_plain(at, &object, first, None, world);
                let after = self.histories[&object].operations.len() - 1;
                let second = self.step(at, world);
                self.ask_plain(at, &object, second, Some(after), world);
            }
            form => {
                let step = self.step(at, world);
                let may_be_named = form == Form::Named && !step.only_reads();
                if may_be_named && (world.scenario.is_some() || world.one_in(2)) {
                    self.ask_named(at, object, step, world);
                } else {
                    self.ask_plain(at, &object, step, None, world);
                }
            }
        }
    }

    fn ask_plain(
        &mut self,
        at: usize,
        object: &str,
        step: Step,
        after: Option<usize>,
        world: &mut World,
    ) {
        let text = render(object, &step);
        let objects = vec![object.to_owned()];
        self.send(at, &text, objects, vec![step], after, false, world);
    }

    fn ask_to_clear(&mut self, at: usize, table: &str, world: &mut World) {
        let objects = (0..self.objects)
            .map(|it| format!("{{{table}:{it}}}"))
            .collect();
        let steps = vec![Step::Clear];
        self.send(at, "FLUSHDB", objects, steps, None, false, world);
    }

    fn ask_transaction(&mut self, at: usize, object: String, world: &mut World) {
        let steps: Vec<Step> = (0..2).map(|_| self.step(at, world)).collect();
        let mut text = "MULTI\r\n".to_owned();
        for step in &steps {
            text += &render(&object, step);
            text += "\r\n";
        }
        text += "EXEC";
        // MULTI is answered, and that each command waits its turn.
        for _ in 0..=steps.len() {
            self.expect(at, Expected::Nothing, world);
        }
        self.send(at, &text, vec![object], steps, None, true, world);
    }

    fn ask_brief(&mut self, at: usize, object: String, world: &mut World) {
        let value = self.value();
        let lives = SKEW_MS * 2 + 20 + world.below(200) as u64;
        let text = format!("SET {object}0 {value} PX {lives}");
        let due = world.unix.0 + lives - SKEW_MS - 1;
        self.expiring.push((due, object.clone(), 0, value.clone()));
        let steps = vec![Step::Set(0, value)];
        self.send(at, &text, vec![object], steps, None, false, world);
    }
}
