//! One number for everything that happened in a run: two runs of a seed must have the same.

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(crate) fn number(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9fb2_1c65_1e98_df25);
        self.0 = mixed ^ (mixed >> 32);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.number(u64::from_le_bytes(*word));
        }
        let mut last = bytes.len() as u64;
        for byte in rest {
            last = (last << 8) | u64::from(*byte);
        }
        self.number(last);
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}
