//! Digests that identify cells, and signatures that determine which cells may be compared.
//!
//! The **cell hash** is over one digest per unit of the resolved cell: model, dataset (settings and content), loss,
//! train, optimizer, schedule, loader, validation, limits. Each digest is over the JSON of typed values, so neither
//! spelling nor the choice of axes matters. Not included: names, key, title, measure, report, cost, and of `limits`
//! everything but `max-loss`: a limit of time or memory decides whether a run ends, not what it computes. Instead of
//! paths, the content of their files is hashed, so that a copy of the project in another folder keeps its results.

use serde::Serialize;
use serde_json::Value;

/// Number of hexadecimal digits of a digest: 128 bits.
const DIGITS: usize = 32;

/// Digest over the JSON of a value, with keys in declaration order. That order is part of the modules that the code
/// hash covers, so both change together.
pub(super) fn digest(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    short(blake3::hash(&json))
}

/// Digest over the canonical JSON of a value without the top-level keys `left_out`.
pub(super) fn digest_without(value: &impl Serialize, left_out: &[&str]) -> String {
    // `serde_json::Map` is sorted by key, so the text is canonical.
    let mut json = serde_json::to_value(value).unwrap_or(Value::Null);
    if let Value::Object(map) = &mut json {
        map.retain(|key, _| !left_out.contains(&key.as_str()));
    }
    short(blake3::hash(json.to_string().as_bytes()))
}

/// Digest over named parts, in their order.
pub(super) fn combine<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // The parts are joined first: hashing them one by one would take twice as long, for every cell of a plan.
    let mut text = String::with_capacity(512);
    for (name, part) in parts {
        for piece in [name, "=", part, "\n"] {
            text.push_str(piece);
        }
    }
    short(blake3::hash(text.as_bytes()))
}

fn short(hash: blake3::Hash) -> String {
    hash.to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_beginning_of_blake3s() {
        let whole = blake3::hash(b"text");
        assert_eq!(short(whole), whole.to_hex()[..DIGITS]);
    }

    #[test]
    fn the_order_of_keys_does_not_matter_and_values_do() {
        let one = serde_json::json!({"a": 1, "b": 0.5});
        let other = serde_json::json!({"b": 0.5, "a": 1});
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(
            digest(&one),
            digest(&serde_json::json!({"a": 1, "b": 0.25}))
        );
        assert_eq!(
            digest_without(&one, &["b"]),
            digest(&serde_json::json!({"a": 1}))
        );
    }
}
