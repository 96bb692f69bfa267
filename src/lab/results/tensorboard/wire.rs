//! The bytes of event files: records with checksums around events as protocol buffers.
//!
//! # Source
//! `tensorflow/core/lib/io/record_writer.cc` (length, masked CRC, data, masked CRC), `event.proto`, `summary.proto`;
//! CRC-32C by RFC 3720, Appendix B.4.

/// The first event of a file: the version of the file format.
pub(super) fn version_event() -> Vec<u8> {
    let mut event = Vec::new();
    double(&mut event, 1, 0.0);
    bytes(&mut event, 3, b"brain.Event:2");
    event
}

/// Scalars of one step, at `seconds` since the start.
pub(super) fn scalar_event(seconds: f64, step: u64, scalars: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, value) in scalars {
        let mut scalar = Vec::new();
        bytes(&mut scalar, 1, tag.as_bytes());
        scalar.push(key(2, FIXED_32));
        scalar.extend((*value as f32).to_le_bytes());
        bytes(&mut summary, 1, &scalar);
    }
    let mut event = Vec::new();
    double(&mut event, 1, seconds);
    event.push(key(2, VARINT));
    varint(&mut event, step);
    bytes(&mut event, 5, &summary);
    event
}

/// A record: length, checksum of the length, event, checksum of the event.
pub(super) fn record(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked(crc32c(&length)).to_le_bytes());
    record.extend_from_slice(event);
    record.extend(masked(crc32c(event)).to_le_bytes());
    record
}

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const LENGTH: u8 = 2;
const FIXED_32: u8 = 5;

/// The tag before a field: field number and wire type. Field numbers below 16 take one byte.
const fn key(field: u8, wire_type: u8) -> u8 {
    field << 3 | wire_type
}

fn double(out: &mut Vec<u8>, field: u8, value: f64) {
    out.push(key(field, FIXED_64));
    out.extend(value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u8, value: &[u8]) {
    out.push(key(field, LENGTH));
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A CRC as the format stores it: rotated, with a constant added, because a plain CRC over data that contains CRCs is
/// weak.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, &byte| {
        TABLE[(crc as u8 ^ byte) as usize] ^ (crc >> 8)
    })
}

/// CRC table: remainders of all bytes, for the polynomial 0x1EDC6F41 with its bits reversed.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            let is_odd = crc & 1 == 1;
            crc >>= 1;
            if is_odd {
                crc ^= 0x82f6_3b78;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4, read as little-endian numbers; the last is the usual check value.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(&(0..32).rev().collect::<Vec<u8>>()), 0x113f_db5c);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn the_first_record_is_as_tensorflow_writes_it() {
        // `hexdump` of any event file starts with these 12 bytes; only the time differs between files.
        let record = record(&version_event());
        assert_eq!(record[..8], 24_u64.to_le_bytes());
        assert_eq!(record[8..12], [0xa3, 0x7f, 0x4b, 0x22], "of the length 24");
        assert_eq!(record[12..21], [9, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&record[21..36], b"\x1a\x0dbrain.Event:2");
        assert_eq!(record.len(), 40);
    }

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let mut out = Vec::new();
        varint(&mut out, 300);
        varint(&mut out, 127);
        assert_eq!(out, [0xac, 0x02, 0x7f]);
    }
}
