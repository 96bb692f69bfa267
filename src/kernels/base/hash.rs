//! [`Digest`]: a short hash of content.

/// A digest over a sequence of values, in the order in which they are added.
///
/// Every value is preceded by its length, so that different sequences of values have different digests.
#[derive(Debug, Clone, Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    /// Starts an empty digest.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, value: impl AsRef<[u8]>) -> Self {
        let bytes = value.as_ref();
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The first 64 bits, as 16 hexadecimal digits: even among millions of names a collision is unlikely.
    pub fn short(&self) -> String {
        self.0.finalize().to_hex()[..16].to_owned()
    }
}

/// The digest of one text as 16 hexadecimal digits ([`Digest::short`]).
pub fn short_hash(text: &str) -> String {
    Digest::new().with(text).short()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_splits_of_a_text_have_different_digests() {
        let split = Digest::new().with("a").with("bc").short();
        assert_ne!(split, Digest::new().with("ab").with("c").short());
        assert_eq!(split, Digest::new().with("a").with("bc").short());
        assert_eq!(split.len(), 16);
    }
}
