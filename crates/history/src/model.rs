//! What a plain map answers.

use crate::operation::{Action, Bytes, Outcome};

/// What a key holds.
pub(crate) type State = Option<Bytes>;

fn number(state: &State) -> Option<i64> {
    let Some(value) = state else {
        return Some(0);
    };
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// What is there after the action, and what is answered.
pub(crate) fn apply(state: &State, action: &Action) -> (State, Outcome) {
    match action {
        Action::Get => (state.clone(), Outcome::Value(state.clone())),
        Action::Set(value) => (Some(value.clone()), Outcome::Done),
        Action::Clear => (None, Outcome::Done),
        Action::Delete => (None, Outcome::Did(state.is_some())),
        Action::Append(more) => {
            let mut whole = state.as_deref().unwrap_or_default().to_vec();
            whole.extend_from_slice(more);
            let outcome = Outcome::Number(i64::try_from(whole.len()).unwrap_or(i64::MAX));
            (Some(whole.into()), outcome)
        }
        Action::Increment(by) => match number(state).and_then(|number| number.checked_add(*by)) {
            Some(sum) => {
                let value = sum.to_string().into_bytes();
                (Some(value.into()), Outcome::Number(sum))
            }
            None => (state.clone(), Outcome::WrongValue),
        },
        Action::CompareAndSet { expected, value } => {
            let is_there = state == expected;
            let after = if is_there {
                Some(value)
            } else {
                state.as_ref()
            };
            (after.cloned(), Outcome::Did(is_there))
        }
        Action::Expire(value) => {
            let is_there = state.as_ref() == Some(value);
            let after = if is_there { None } else { state.clone() };
            (after, Outcome::Did(is_there))
        }
    }
}
