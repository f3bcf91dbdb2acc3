//! CLUSTER LOOKUP: the way to a routing hash.

use crate::args::Args;
use crate::error::ErrorReply;
use crate::number::integer;
use brickyard_types::PartitionId;

/// A routing hash that somebody looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupArgs<'a> {
    /// What is looked for.
    pub hash: u64,
    /// The name of the routing graph; none: the usual one.
    pub graph: Option<&'a [u8]>,
    /// By which routing table alone it is to be answered.
    pub by: Option<LookupBy>,
    /// Hops that the lookup has behind it; only counted.
    pub hops: u64,
}

/// A routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupBy {
    /// Of any partition that is held.
    Any,
    /// Of this one.
    Partition(PartitionId),
}

impl<'a> LookupArgs<'a> {
    /// Reads the arguments of `CLUSTER LOOKUP`; `None`: there are none.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn parse(args: Args<'a>) -> Result<Option<Self>, ErrorReply> {
        let Some(hash) = args.get(2) else {
            return Ok(None);
        };
        let mut request = Self {
            hash: hexadecimal(hash).ok_or(NO_HASH)?,
            graph: None,
            by: None,
            hops: 0,
        };
        let mut options = args.skip(3);
        while !options.is_empty() {
            let value = options.get(1).ok_or(ErrorReply::SYNTAX)?;
            match options.at(0) {
                word if word.eq_ignore_ascii_case(b"graph") => request.graph = Some(value),
                word if word.eq_ignore_ascii_case(b"by") && value.eq_ignore_ascii_case(b"any") => {
                    request.by = Some(LookupBy::Any);
                }
                word if word.eq_ignore_ascii_case(b"by") => {
                    let partition = u32::try_from(integer(value)?);
                    let partition = partition.map_err(|_| ErrorReply::NOT_AN_INTEGER)?;
                    request.by = Some(LookupBy::Partition(PartitionId(partition)));
                }
                word if word.eq_ignore_ascii_case(b"hops") => {
                    let hops = u64::try_from(integer(value)?);
                    request.hops = hops.map_err(|_| ErrorReply::NOT_AN_INTEGER)?;
                }
                _ => return Err(ErrorReply::SYNTAX),
            }
            options = options.skip(2);
        }
        Ok(Some(request))
    }
}

const NO_HASH: ErrorReply = ErrorReply::constant(
    "ERR a routing hash is 1 to 16 hexadecimal digits, such as 3fff000000000000",
);

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let is_hexadecimal = (1..=16).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_hexadecimal)?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod lookup_test {
    use super::*;
    use crate::args::OwnedArgs;

    fn parsed(line: &str) -> Result<Option<LookupArgs<'static>>, String> {
        let request: &'static OwnedArgs = Box::leak(Box::new(line.split(' ').collect()));
        LookupArgs::parse(request.as_args()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_hash_is_hexadecimal_and_options_come_in_any_order() {
        assert_eq!(parsed("cluster lookup"), Ok(None));
        let plain = LookupArgs {
            hash: 0xFFFF_FFFF_FFFF_FFFF,
            graph: None,
            by: None,
            hops: 0,
        };
        assert_eq!(parsed("cluster lookup ffffFFFFffffffff"), Ok(Some(plain)));
        let all = LookupArgs {
            hash: 10,
            graph: Some(b"deBruijn"),
            by: Some(LookupBy::Partition(PartitionId(7))),
            hops: 3,
        };
        for line in [
            "a HOPS 3 by 7 graph deBruijn",
            "0a Graph deBruijn hops 3 BY 7",
        ] {
            assert_eq!(
                parsed(&format!("cluster lookup {line}")),
                Ok(Some(all)),
                "{line}"
            );
        }
    }

    #[test]
    fn any_table_will_do() {
        let request = parsed("cluster lookup a BY Any").map(|it| it.and_then(|it| it.by));
        assert_eq!(request, Ok(Some(LookupBy::Any)));
    }

    #[test]
    fn anything_else_is_refused() {
        for line in ["", "x", "0x1", "+1", "10000000000000000"] {
            let refused = parsed(&format!("cluster lookup {line}"));
            assert!(
                refused.is_err_and(|it| it.contains("hexadecimal")),
                "{line}"
            );
        }
        for line in [
            "a BY",
            "a BY -1",
            "a BY 4294967296",
            "a HOPS x",
            "a HOPS -1",
            "a to b",
        ] {
            assert!(parsed(&format!("cluster lookup {line}")).is_err(), "{line}");
        }
    }
}
