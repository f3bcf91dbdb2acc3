//! Values that are not read: each is passed over by its shape.
//!
//! In:  the number of a type. Out: its name; the input behind such a value.

use super::{error::RdbError, input::Input, value::STRING};
use std::io::Read;

/// What a value of a type is made of.
#[derive(Clone, Copy)]
enum Shape {
    /// One string.
    Blob,
    /// So many strings for each element that is counted.
    Strings(u8),
    /// For each element a string, and a number as text.
    Scored,
    /// For each element a string and 8 bytes.
    ScoredBinary,
    /// For each node a number and a string.
    Nodes,
    /// For each element a number, and two strings; 8 bytes before the count, if so.
    TimedFields {
        has_least: bool,
    },
    /// 8 bytes, and one string.
    TimedBlob,
    /// For each element two strings and 8 bytes.
    FieldsWithTime,
    Stream(u8),
    Module,
}

const fn shape(kind: u8, is_valkey: bool) -> Option<(&'static str, Shape)> {
    Some(match kind {
        STRING => ("string", Shape::Blob),
        1 | 14 => ("list", Shape::Strings(1)),
        10 => ("list", Shape::Blob),
        18 => ("list", Shape::Nodes),
        2 => ("set", Shape::Strings(1)),
        11 | 20 => ("set", Shape::Blob),
        3 => ("sorted set", Shape::Scored),
        5 => ("sorted set", Shape::ScoredBinary),
        12 | 17 => ("sorted set", Shape::Blob),
        4 => ("hash", Shape::Strings(2)),
        9 | 13 | 16 => ("hash", Shape::Blob),
        // The number 22 means one thing to Valkey and another to early builds of Redis 7.4.
        22 if is_valkey => ("hash", Shape::FieldsWithTime),
        22 => ("hash", Shape::TimedFields { has_least: false }),
        23 if !is_valkey => ("hash", Shape::Blob),
        24 if !is_valkey => ("hash", Shape::TimedFields { has_least: true }),
        25 if !is_valkey => ("hash", Shape::TimedBlob),
        15 => ("stream", Shape::Stream(1)),
        19 => ("stream", Shape::Stream(2)),
        21 => ("stream", Shape::Stream(3)),
        7 => ("module value", Shape::Module),
        _ => return None,
    })
}

/// The name of a type, if it is known.
pub(super) fn name(kind: u8, is_valkey: bool) -> Option<&'static str> {
    shape(kind, is_valkey).map(|(name, _)| name)
}

impl<R: Read> Input<R> {
    /// Passes over a value of this type.
    pub(super) fn skip_value(&mut self, kind: u8, is_valkey: bool) -> Result<(), RdbError> {
        let Some((_, shape)) = shape(kind, is_valkey) else {
            return Err(self.damaged(self.offset(), format!("a value of type {kind}")));
        };
        match shape {
            Shape::Blob => self.skip_text(),
            Shape::Strings(each) => self.skip_elements(|input| {
                for _ in 0..each {
                    input.skip_text()?;
                }
                Ok(())
            }),
            Shape::Scored => self.skip_elements(|input| {
                input.skip_text()?;
                match input.byte()? {
                    // Not a number, and the two infinities.
                    253..=255 => Ok(()),
                    bytes => input.skip(u64::from(bytes)),
                }
            }),
            Shape::ScoredBinary => self.skip_elements(|input| {
                input.skip_text()?;
                input.skip(8)
            }),
            Shape::Nodes => self.skip_elements(|input| {
                input.length()?;
                input.skip_text()
            }),
            Shape::TimedFields { has_least } => {
                if has_least {
                    self.skip(8)?;
                }
                self.skip_elements(|input| {
                    input.length()?;
                    input.skip_text()?;
                    input.skip_text()
                })
            }
            Shape::TimedBlob => {
                self.skip(8)?;
                self.skip_text()
            }
            Shape::FieldsWithTime => self.skip_elements(|input| {
                input.skip_text()?;
                input.skip_text()?;
                input.skip(8)
            }),
            Shape::Stream(version) => self.skip_stream(version),
            Shape::Module => {
                self.length()?;
                self.skip_module()
            }
        }
    }

    fn skip_elements(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), RdbError>,
    ) -> Result<(), RdbError> {
        // A lie about the count ends with the input: every element has a byte at least.
        for _ in 0..self.length()? {
            each(self)?;
        }
        Ok(())
    }

    fn lengths(&mut self, count: usize) -> Result<(), RdbError> {
        for _ in 0..count {
            self.length()?;
        }
        Ok(())
    }

    fn skip_stream(&mut self, version: u8) -> Result<(), RdbError> {
        self.skip_elements(|input| {
            input.skip_text()?;
            input.skip_text()
        })?;
        // Its length and last id; since the second version the first id, the greatest deleted one, and how many were added.
        self.lengths(if version >= 2 { 8 } else { 3 })?;
        self.skip_elements(|group| {
            group.skip_text()?;
            group.lengths(if version >= 2 { 3 } else { 2 })?;
            group.skip_elements(|pending| {
                pending.skip(16 + 8)?;
                pending.lengths(1)
            })?;
            group.skip_elements(|consumer| {
                consumer.skip_text()?;
                consumer.skip(if version >= 3 { 16 } else { 8 })?;
                consumer.skip_elements(|pending| pending.skip(16))
            })
        })
    }

    /// Passes over what a module has written: numbers and strings, each with its kind before it, to an end mark.
    pub(super) fn skip_module(&mut self) -> Result<(), RdbError> {
        loop {
            let at = self.offset();
            match self.length()? {
                0 => return Ok(()),
                1 | 2 => self.lengths(1)?,
                3 => self.skip(4)?,
                4 => self.skip(8)?,
                5 => self.skip_text()?,
                kind => return Err(self.damaged(at, format!("a module's value of kind {kind}"))),
            }
        }
    }
}
