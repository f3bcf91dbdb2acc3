//! The routing hash that keeps the order of keys.
//!
//! In:  keys, and perhaps the lowest and the highest of them. Out: numbers of 64 bits, never in another order than the keys.
//!
//! Without bounds a key's number is its first eight bytes. Text fills few of the numbers that these can be: of keys that are `user:` and
//! eight digits, all begin with the same 44 bits, and would be in one partition. Bounds say what keys look like. What both of them begin
//! with is left out, and the rest is read as a number whose digits are the characters that may be there: those of the same kinds
//! (digits, capital letters, small letters, others) between the lowest and the highest character of the two. The numbers of the
//! bounds become the ends of the 64 bits, and what lies between is stretched:
//! ```text
//! FROM user:0000 TO user:9999     characters 0 to 9     user:0000 -> 0     user:2500 -> a quarter     user:9999 -> the last one
//! ```
//! A key is not bound to the bounds: one before them is at the first number, one behind them at the last one. A character that is not expected
//! counts as the place just before the next one that is.
//!
//! Invariants:
//! - Of two keys the lower one never has the higher number.
//! - Keys and numbers are a function of the bounds alone: they may never change.

use brickyard_types::KeyBounds;
use std::cmp::Ordering;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// What both bounds begin with.
    prefix: Box<[u8]>,
    /// Of each byte, how many of the expected characters are below it.
    ranks: Box<[u8; 256]>,
    /// Whether a byte is one of these.
    is_expected: Box<[bool; 256]>,
    /// How many there are.
    base: u64,
    /// How many of a key's characters count.
    digits: u32,
    /// The number of the lowest key, before it is stretched.
    first: u64,
    /// That of the highest.
    last: u64,
    /// By what a number's distance from the first is stretched, in parts of 2^64.
    stretch: u128,
}

/// Numbers of this many bits at most: one more than the highest has room, and the sums of what follows do.
const NUMBER_MAX: u64 = 1 << 62;

impl Order {
    pub(crate) fn new(bounds: &KeyBounds) -> Self {
        let (from, to) = (bounds.from().as_bytes(), bounds.to().as_bytes());
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let (prefix, from) = from.split_at(common);
        let to = &to[common..];
        let seen = || from.iter().chain(to).copied();
        let (low, high) = (seen().min().unwrap_or(0), seen().max().unwrap_or(0));
        let is_alike = |byte: u8| seen().any(|it| kind(it) == kind(byte));
        let mut order = Self {
            prefix: prefix.into(),
            ranks: Box::new([0; 256]),
            is_expected: Box::new([false; 256]),
            base: 0,
            digits: 0,
            first: 0,
            last: 0,
            stretch: 0,
        };
        for byte in 0..=u8::MAX {
            order.ranks[usize::from(byte)] = order.base as u8;
            if (low..=high).contains(&byte) && is_alike(byte) {
                order.is_expected[usize::from(byte)] = true;
                order.base += 1;
            }
        }
        // Of one character there is no number: `a` and `aa` differ in how many there are.
        order.base = order.base.max(2);
        order.digits = NUMBER_MAX.ilog(order.base);
        assert!(
            order.digits > 0,
            "no number fits of {} characters",
            order.base
        );
        order.first = order.number(from);
        order.last = order.number(to);
        let span = u128::from(order.last.saturating_sub(order.first)) + 1;
        order.stretch = u128::MAX / span;
        order
    }

    /// Whether some keys are before others: bounds may be so alike that all are at an end.
    pub(crate) const fn is_useful(&self) -> bool {
        self.first < self.last
    }

    /// Where a key is.
    pub(crate) fn place(&self, key: &[u8]) -> u64 {
        let shared = key.len().min(self.prefix.len());
        match key[..shared].cmp(&self.prefix[..shared]) {
            Ordering::Less => return 0,
            Ordering::Greater => return u64::MAX,
            Ordering::Equal if shared < self.prefix.len() => return 0,
            Ordering::Equal => {}
        }
        let number = self.number(&key[shared..]);
        if number >= self.last {
            return u64::MAX;
        }
        let distance = u128::from(number.saturating_sub(self.first));
        ((distance * self.stretch) >> 64) as u64
    }

    /// What follows the prefix, as a number.
    fn number(&self, rest: &[u8]) -> u64 {
        let (mut number, mut bytes) = (0, rest.iter());
        let mut is_over = false;
        for _ in 0..self.digits {
            // Nothing is as low as the lowest character: there is nothing between them that a split could tell apart.
            let digit = match bytes.next() {
                Some(byte) if !is_over => {
                    // Just before the next one: whatever follows does not count.
                    is_over = !self.is_expected[usize::from(*byte)];
                    u64::from(self.ranks[usize::from(*byte)])
                }
                _ => 0,
            };
            number = number * self.base + digit;
        }
        number
    }
}

/// Characters that stand beside one another in keys.
const fn kind(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    }
}

/// Where a key is without bounds.
pub(crate) fn first_bytes(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
#[path = "order_test.rs"]
mod order_test;
