//! Philox 4×32-10: random words as a pure function of a key and a counter, so that any part of a mask can be computed
//! by any thread, on any device, and again in backward.
//!
//! Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", §3.

/// Number of words of a [`block`].
pub(super) const BLOCK: usize = 64;

/// Lanes of one block: counters that are computed in parallel.
const LANES: usize = 16;

/// The 64 words of block number `index`: word `16 w + l` is output `w` of counter `16 index + l`.
#[inline(always)]
pub(super) fn block(key: u64, index: u64) -> [u32; BLOCK] {
    let counter = |lane: usize| index * LANES as u64 + lane as u64;
    let mut x = [[0; LANES]; 4];
    x[0] = std::array::from_fn(counter);
    x[1] = std::array::from_fn(|lane| counter(lane) >> 32);
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..10 {
        x = round(&x, k0, k1);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    let mut words = [0; BLOCK];
    for (words, x) in words.chunks_exact_mut(LANES).zip(&x) {
        for (word, x) in words.iter_mut().zip(x) {
            *word = *x as u32;
        }
    }
    words
}

/// One round. A word is the lower half of a `u64` with an arbitrary upper half: vector units multiply the lower halves
/// directly, so that no round has to pack and unpack words.
#[inline(always)]
fn round(x: &[[u64; LANES]; 4], k0: u32, k1: u32) -> [[u64; LANES]; 4] {
    const LOWER: u64 = u32::MAX as u64;
    let mut y = [[0; LANES]; 4];
    for lane in 0..LANES {
        let a = 0xD251_1F53 * (x[0][lane] & LOWER);
        let b = 0xCD9E_8D57 * (x[2][lane] & LOWER);
        y[0][lane] = (b >> 32) ^ x[1][lane] ^ u64::from(k0);
        y[1][lane] = b;
        y[2][lane] = (a >> 32) ^ x[3][lane] ^ u64::from(k1);
        y[3][lane] = a;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test vector of the authors' library Random123 (`kat_vectors`: `philox4x32 10`, all zero).
    #[test]
    fn the_published_vector_comes_out() {
        let words = block(0, 0);
        assert_eq!(
            [words[0], words[16], words[32], words[48]],
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
    }

    #[test]
    fn blocks_differ_and_words_are_spread_evenly() {
        assert_ne!(block(7, 0), block(7, 1));
        assert_ne!(block(7, 0), block(8, 0));
        let below = (0..4096)
            .flat_map(|index| block(42, index))
            .filter(|&word| word < u32::MAX / 10)
            .count();
        let share = below as f64 / (4096.0 * BLOCK as f64);
        assert!((share - 0.1).abs() < 0.003, "{share}");
    }
}
