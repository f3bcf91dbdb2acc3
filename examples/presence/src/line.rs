//! What users and gateways say to a gateway, a line each.
//!
//! | Line | Answer |
//! |---|---|
//! | `ON user` | `OK` |
//! | `OFF` | `OK`, or `GONE` if the user has signed on elsewhere meanwhile |
//! | `WHERE user` | `AT host:port`, `NOWHERE` |
//! | `SEND user text` | `OK` once the user's gateway has passed it on, `NOWHERE` |
//! | `QUIT` | the connection ends, the user is signed off |
//! | `DELIVER user from text` | from another gateway: `OK`, `NOWHERE` |
//!
//! Beside answers a user gets `FROM user text`, and `GONE` when he is signed on here no more. `ERR` tells what is wrong, `AGAIN` that nothing was
//! done and may be tried again, `UNKNOWN` that nobody knows whether it was.

/// Longest line, of bytes.
pub(crate) const LINE_BYTES_MAX: u64 = 4096;

/// Longest name of a user.
const NAME_BYTES_MAX: usize = 64;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    On(&'a str),
    Off,
    Where(&'a str),
    Send {
        to: &'a str,
        text: &'a str,
    },
    Deliver {
        to: &'a str,
        from: &'a str,
        text: &'a str,
    },
    Quit,
}

impl<'a> Line<'a> {
    /// Reads a line without its end; what is wrong with it, if it is none.
    pub(crate) fn parse(line: &'a str) -> Result<Self, &'static str> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "ON" => Ok(Self::On(name(rest)?)),
            "OFF" => Ok(Self::Off),
            "WHERE" => Ok(Self::Where(name(rest)?)),
            "SEND" => {
                let (to, text) = rest.split_once(' ').ok_or("SEND user text")?;
                let to = name(to)?;
                Ok(Self::Send { to, text })
            }
            "DELIVER" => {
                let mut parts = rest.splitn(3, ' ');
                let mut part = || parts.next().ok_or("DELIVER user from text");
                let (to, from, text) = (name(part()?)?, name(part()?)?, part()?);
                Ok(Self::Deliver { to, from, text })
            }
            "QUIT" => Ok(Self::Quit),
            _ => Err("say ON user, OFF, WHERE user, SEND user text, or QUIT"),
        }
    }
}

fn name(word: &str) -> Result<&str, &'static str> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    if word.is_empty() || word.len() > NAME_BYTES_MAX || !word.chars().all(is_plain) {
        return Err("a name is 1 to 64 letters, digits, '_', '.' or '-'");
    }
    Ok(word)
}

#[cfg(test)]
mod line_test {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(Line::parse("ON ann"), Ok(Line::On("ann")));
        assert_eq!(Line::parse("OFF"), Ok(Line::Off));
        assert_eq!(Line::parse("WHERE b-o_b.1"), Ok(Line::Where("b-o_b.1")));
        let text = "hello, bob ";
        let line = Line::Send { to: "bob", text };
        assert_eq!(Line::parse("SEND bob hello, bob "), Ok(line));
        let (to, from) = ("bob", "ann");
        let line = Line::Deliver { to, from, text };
        assert_eq!(Line::parse("DELIVER bob ann hello, bob "), Ok(line));
        assert_eq!(Line::parse("QUIT"), Ok(Line::Quit));
    }

    #[test]
    fn what_is_none_is_refused() {
        let long = format!("ON {}", "a".repeat(65));
        for line in [
            "",
            "on ann",
            "ON",
            "ON a b",
            "ON ä",
            "ON a\0",
            "WHERE ",
            "SEND bob",
            "SEND  hello",
            "DELIVER bob ann",
            "DELIVER bob a:b hello",
            &long,
        ] {
            assert!(Line::parse(line).is_err(), "{line:?}");
        }
    }
}
