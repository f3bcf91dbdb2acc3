//! Goal: whatever the moment of a crash, what was synced is there afterwards, and what is there is a
//! state that the log once had. Method: the log's whole life on a disk that dies at each call in turn,
//! with many power cuts.

use super::control_log_test::{DIRECTORY, begun, entry, hard_state};
use super::*;
use crate::mem_disk::{Fault, MemDisk};

/// The states that the log went through.
#[derive(Default)]
struct Past {
    states: Vec<ControlState>,
    /// From this one on they may be what is there.
    synced: usize,
}

impl Past {
    fn push(&mut self, state: &ControlState) {
        self.states.push(state.clone());
    }

    fn sync(&mut self) {
        self.synced = self.states.len() - 1;
    }
}

/// A log's life until the disk dies.
fn live(disk: &MemDisk, past: &mut Past) -> Result<(), ControlLogError> {
    let mut state = begun();
    let mut log = ControlLog::create(disk.clone(), DIRECTORY, &state)?;
    past.push(&state);
    for step in 0..12u64 {
        let term = 4 + step / 3;
        match step {
            5 => {
                let at = state.entries[1].clone();
                state.snapshot = Some(ControlSnapshot {
                    index: at.index,
                    term: at.term,
                    voters: vec![1],
                    learners: vec![],
                    data: vec![5; 700],
                });
                state.entries.drain(..2);
                past.push(&state);
                log.replace(&state)?;
                past.sync();
            }
            8 => {
                drop(log);
                let opened = ControlLog::open(disk.clone(), DIRECTORY, PageCache::Intact)?;
                let opened = opened.unwrap();
                assert_eq!(opened.state, state);
                past.sync();
                log = opened.log;
            }
            _ => {
                let last = state.entries.last().map_or(10, |it| it.index);
                let first = last + 1 - step % 2;
                let entries: Vec<_> = (first..first + 3).map(|it| entry(it, term)).collect();
                state.hard_state = hard_state(term, 11);
                assert!(state.take(entries.clone()));
                past.push(&state);
                log.append(Some(state.hard_state), &entries)?;
                if step % 3 != 1 {
                    log.sync()?;
                    past.sync();
                }
            }
        }
    }
    log.close()?;
    past.sync();
    Ok(())
}

fn check(past: &Past, opened: Option<ControlOpened<MemDisk>>, first: usize, when: &str) {
    let Some(opened) = opened else {
        assert!(past.synced == 0 && first == 0, "{when}: it is gone");
        return;
    };
    let found = past.states.iter().rposition(|it| *it == opened.state);
    let Some(found) = found else {
        // The name reached the disk, and the process did not hear of it.
        assert!(past.states.is_empty() && opened.state == begun(), "{when}");
        return;
    };
    assert!(found >= first, "{when}: {found} is older than {first}");
}

#[test]
fn power_cut_at_any_call_keeps_what_was_synced() {
    for calls in 0..200 {
        for seed in 0..40 {
            let disk = MemDisk::new(seed * 1000 + calls);
            disk.inject(Fault::Dies { after: calls });
            let mut past = Past::default();
            let is_over = live(&disk, &mut past).is_ok();
            disk.heal();
            disk.power_cut();
            let when = format!("calls {calls} seed {seed}");
            let opened = ControlLog::open(disk.clone(), DIRECTORY, PageCache::MaybeLost);
            let opened = opened.unwrap_or_else(|error| panic!("{when}: {error}"));
            check(&past, opened, past.synced, &when);
            // Another power cut changes nothing: what was found is synced.
            disk.power_cut();
            let again = ControlLog::open(disk.clone(), DIRECTORY, PageCache::MaybeLost).unwrap();
            check(&past, again, past.synced, &when);
            if is_over && seed == 0 {
                assert!(calls > 30, "a life of {calls} calls");
                return;
            }
        }
    }
    panic!("a life never ends");
}

#[test]
fn killed_process_loses_nothing_that_was_written() {
    for calls in 0..200 {
        let disk = MemDisk::new(calls);
        disk.inject(Fault::Dies { after: calls });
        let mut past = Past::default();
        let is_over = live(&disk, &mut past).is_ok();
        disk.heal();
        let opened = ControlLog::open(disk.clone(), DIRECTORY, PageCache::Intact).unwrap();
        // All but the write that was under way.
        let first = past.states.len().saturating_sub(2);
        check(&past, opened, first, &format!("calls {calls}"));
        if is_over {
            return;
        }
    }
    panic!("a life never ends");
}
