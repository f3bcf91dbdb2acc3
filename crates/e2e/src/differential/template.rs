//! A little language for the shape of a command: which words, which arguments, which options.
//!
//! - `UPPER` is sent as it is, `lower` is a placeholder filled in by the generator.
//! - `[ a | b ]` is one of the alternatives or nothing, `( a | b )` exactly one of them.
//! - `+` after a word or group repeats it one to four times.
//!
//! `SET key value [ EX seconds | KEEPTTL ]` is an example.

use crate::random::Random;

/// Most repetitions of something marked with `+`.
const REPETITIONS_MAX: usize = 4;

/// A parsed template.
#[derive(Clone, Debug)]
pub enum Template {
    /// A word of the template.
    Word(&'static str),
    /// Parts in order.
    Sequence(Vec<Self>),
    /// One of these.
    Choice(Vec<Self>),
    /// One or more times.
    Repeat(Box<Self>),
}

impl Template {
    /// Parses a template.
    ///
    /// # Panics
    /// If its brackets do not match.
    #[must_use]
    pub fn parse(text: &'static str) -> Self {
        let words: Vec<&'static str> = text.split_whitespace().collect();
        let mut at = 0;
        let template = alternatives(&words, &mut at);
        assert_eq!(at, words.len(), "a bracket too many in '{text}'");
        template
    }

    /// Calls `word` for each word of a random instance, in order.
    pub fn expand(&self, random: &mut Random, word: &mut dyn FnMut(&mut Random, &'static str)) {
        match self {
            Self::Word(text) => word(random, text),
            Self::Sequence(parts) => {
                for part in parts {
                    part.expand(random, word);
                }
            }
            Self::Choice(choices) => choices[random.below(choices.len())].expand(random, word),
            Self::Repeat(part) => {
                for _ in 0..=random.below(REPETITIONS_MAX) {
                    part.expand(random, word);
                }
            }
        }
    }
}

/// Parses up to the end or a closing bracket.
fn alternatives(words: &[&'static str], at: &mut usize) -> Template {
    let mut choices = Vec::new();
    let mut parts = Vec::new();
    while let Some(&word) = words.get(*at) {
        if [")", "]", ")+"].contains(&word) {
            break;
        }
        *at += 1;
        match word {
            "|" => choices.push(Template::Sequence(std::mem::take(&mut parts))),
            "(" => {
                let group = alternatives(words, at);
                let is_repeated = words.get(*at) == Some(&")+");
                *at += 1;
                parts.push(if is_repeated {
                    Template::Repeat(Box::new(group))
                } else {
                    group
                });
            }
            "[" => {
                let group = alternatives(words, at);
                *at += 1;
                parts.push(Template::Choice(vec![
                    Template::Sequence(Vec::new()),
                    group,
                ]));
            }
            _ => parts.push(match word.strip_suffix('+') {
                Some(word) if !word.is_empty() => Template::Repeat(Box::new(Template::Word(word))),
                _ => Template::Word(word),
            }),
        }
    }
    choices.push(Template::Sequence(parts));
    if choices.len() == 1 {
        choices.swap_remove(0)
    } else {
        Template::Choice(choices)
    }
}

#[cfg(test)]
#[path = "template_test.rs"]
mod template_test;
