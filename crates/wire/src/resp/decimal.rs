//! Decimal numbers as RESP writes them: no plus sign, no leading zeros, no spaces.

/// Most bytes of a [`NumberLine`]: 20 hold `u64::MAX` (20 digits) and `i64::MIN` (19 and a sign).
pub(super) const LINE_BYTES_MAX: usize = 1 + 20 + 2;

/// Reads a whole field as a number; nothing if it is anything else.
///
/// As strict as Redis's `string2ll`: `01`, `+1`, `-0`, ` 1` and the empty field are not numbers.
pub(super) fn parse(field: &[u8]) -> Option<i64> {
    if field == b"0" {
        return Some(0);
    }
    let (is_negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !matches!(digits.first(), Some(b'1'..=b'9')) {
        return None;
    }
    // Summed up below zero, where there is room for one number more: -2^63.
    let mut number: i64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if is_negative {
        Some(number)
    } else {
        number.checked_neg()
    }
}

/// The digits of 0 to 99.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        }
        number += 1;
    }
    pairs
};

/// A line that holds one number: a type byte, the number, CR and LF.
pub(super) struct NumberLine {
    /// Filled from the end, so that the digits come as division yields them.
    bytes: [u8; LINE_BYTES_MAX],
    start: usize,
}

impl NumberLine {
    /// Writes `number` behind `kind`.
    #[inline]
    pub(super) fn signed(kind: u8, number: i64) -> Self {
        let mut line = Self::digits(number.unsigned_abs());
        if number < 0 {
            line.push_front(b'-');
        }
        line.push_front(kind);
        line
    }

    /// Writes `number` behind `kind`.
    #[inline]
    pub(super) fn unsigned(kind: u8, number: u64) -> Self {
        let mut line = Self::digits(number);
        line.push_front(kind);
        line
    }

    #[inline]
    fn digits(mut number: u64) -> Self {
        let mut bytes = [0; LINE_BYTES_MAX];
        if let Some(end) = bytes.last_chunk_mut::<2>() {
            *end = *b"\r\n";
        }
        let mut line = Self {
            bytes,
            start: LINE_BYTES_MAX - 2,
        };
        // Two digits a division: it is what this costs.
        while number >= 10 {
            let [tens, ones] = PAIRS
                .get((number % 100) as usize)
                .copied()
                .unwrap_or_default();
            line.push_front(ones);
            line.push_front(tens);
            number /= 100;
        }
        if number > 0 || line.start == LINE_BYTES_MAX - 2 {
            line.push_front(b'0' + number as u8);
        }
        line
    }

    #[inline]
    fn push_front(&mut self, byte: u8) {
        self.start -= 1;
        if let Some(place) = self.bytes.get_mut(self.start) {
            *place = byte;
        }
    }

    /// What was written.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "decimal_test.rs"]
mod decimal_test;
