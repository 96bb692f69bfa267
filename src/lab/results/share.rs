//! [`Share`]: the part of a numbered list that this machine works on when several machines divide it.

use std::fmt;
use std::str::FromStr;

/// One of `of` shares: `3/8` is the third of eight.
///
/// Items are assigned in rounds of `of`, each round shifted by one against the round before: item `k` goes to share
/// `(k + ⌊k / of⌋) mod of + 1`. Share sizes differ by at most one. Plain `k mod of` would give one share all cells with
/// one value of an axis whose length divides `of`; this rule does not. An item's share depends only on its number and
/// on `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Share {
    of: usize,
    index: usize,
}

/// Error: not a valid share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `i/n` with 1 ≤ i ≤ n, for example `1/4`")]
pub struct InvalidShare;

impl Share {
    /// Share `index`, from 1, of `of`.
    ///
    /// # Errors
    /// [`InvalidShare`] unless `1 ≤ index ≤ of`.
    pub fn new(index: usize, of: usize) -> Result<Self, InvalidShare> {
        if (1..=of).contains(&index) {
            Ok(Self { of, index })
        } else {
            Err(InvalidShare)
        }
    }

    /// All `of` shares, in order.
    pub fn all(of: usize) -> impl Iterator<Item = Self> {
        (1..=of).map(move |index| Self { of, index })
    }

    /// Index of the share, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Number of shares.
    pub fn share_count(self) -> usize {
        self.of
    }

    /// Index of the share, of `of`, that item `number` (from 0) belongs to; 0 if `of` is 0.
    pub fn share_of_item(number: usize, of: usize) -> usize {
        let row = number.checked_div(of);
        row.map_or(0, |row| number.wrapping_add(row) % of + 1)
    }

    /// Whether item `number` (from 0) belongs to this share.
    pub fn owns(self, number: usize) -> bool {
        Self::share_of_item(number, self.of) == self.index
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Share {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, InvalidShare> {
        // Digits are checked first: parsing as `usize` would accept a `+` sign.
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_plain).ok_or(InvalidShare)
        };
        let (index, of) = text.split_once('/').ok_or(InvalidShare)?;
        Self::new(number(index)?, number(of)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_belongs_to_exactly_one_share_and_shares_are_even() {
        for of in 1..12 {
            let mut sizes = vec![0; of];
            for number in 0..100 {
                let owners: Vec<Share> = Share::all(of).filter(|s| s.owns(number)).collect();
                assert_eq!(owners.len(), 1, "{number} of {of}");
                sizes[owners[0].index() - 1] += 1;
            }
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn the_deal_is_the_documented_one() {
        let owned = |share: &str| -> Vec<usize> {
            let share: Share = share.parse().unwrap();
            (0..9).filter(|&number| share.owns(number)).collect()
        };
        assert_eq!(owned("1/3"), [0, 5, 7]);
        assert_eq!(owned("2/3"), [1, 3, 8]);
        assert_eq!(owned("3/3"), [2, 4, 6]);
    }

    #[test]
    fn an_axis_as_long_as_there_are_shares_is_spread_over_them() {
        let share: Share = "1/4".parse().unwrap();
        let values: std::collections::BTreeSet<usize> = (0..16)
            .filter(|&number| share.owns(number))
            .map(|number| number % 4)
            .collect();
        assert_eq!(values.len(), 4);
    }

    #[test]
    fn only_an_index_within_its_number_is_a_share() {
        assert_eq!("3/8".parse::<Share>().unwrap().to_string(), "3/8");
        for text in [
            "", "3", "0/8", "9/8", "1/0", "+1/8", "1/8/2", "a/b", " 1/8", "-1/8",
        ] {
            assert_eq!(text.parse::<Share>(), Err(InvalidShare), "{text}");
        }
    }
}
