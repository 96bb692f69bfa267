//! The checksum of a stored record: a last field `checksum` over the bytes before it.
//!
//! ```text
//! {"key":"model=mlp","keys":{…},…,"checksum":"9f86d081884c7d65"}
//! ```
//! The checksum is compared with the bytes as they were read, never with a second serialisation: fields that this
//! version does not know, and the way a number is printed, cannot change it. Records of earlier versions have no
//! checksum and are read without a check.

use crate::base::hash::Digest;

const FIELD: &[u8] = b",\"checksum\":\"";

/// Length in bytes of the checksum field with the closing `"}`: the digest has 16 hexadecimal digits.
const LENGTH: usize = FIELD.len() + 16 + 2;

/// Adds the checksum to the JSON of an object. A list (the steps of a run) has no fields and stays as it is.
pub(super) fn seal(mut json: Vec<u8>) -> Vec<u8> {
    if json.len() > 2 && json.pop_if(|last| *last == b'}').is_some() {
        let end = end(&json);
        json.extend(end);
    }
    json
}

/// The JSON of a record without its checksum; `None` if the checksum is wrong.
pub(super) fn unseal(mut json: Vec<u8>) -> Option<Vec<u8>> {
    let Some(at) = place(&json) else {
        return Some(json);
    };
    let holds = json[at..] == end(&json[..at]);
    json.truncate(at);
    json.push(b'}');
    holds.then_some(json)
}

/// Whether a record has a checksum, right or wrong.
pub(super) fn is_sealed(json: &[u8]) -> bool {
    place(json).is_some()
}

fn place(json: &[u8]) -> Option<usize> {
    let at = json.len().checked_sub(LENGTH)?;
    json[at..].starts_with(FIELD).then_some(at)
}

fn end(body: &[u8]) -> Vec<u8> {
    let digest = Digest::new().with(body).short();
    [FIELD, digest.as_bytes(), b"\"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_record_reads_back_and_any_other_byte_is_noticed() {
        let json = br#"{"loss":0.30000000000000004,"later field":[1]}"#;
        let sealed = seal(json.to_vec());
        assert!(is_sealed(&sealed));
        assert!(serde_json::from_slice::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(unseal(sealed.clone()).unwrap(), json);
        for place in 0..json.len() - 1 {
            let mut damaged = sealed.clone();
            damaged[place] ^= 1;
            assert_eq!(unseal(damaged), None, "{place}");
        }
    }

    #[test]
    fn what_earlier_versions_wrote_is_read_as_it_is() {
        for json in ["{\"a\":1}", "{}", "[[1],[2]]", ""] {
            assert!(!is_sealed(json.as_bytes()));
            assert_eq!(unseal(json.into()).unwrap(), json.as_bytes());
        }
        for json in ["{}", "[[1],[2]]"] {
            assert_eq!(seal(json.into()), json.as_bytes());
        }
    }
}
