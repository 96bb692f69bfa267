//! A small made-up table, for a manifest without data.

use std::fmt::Write;

use rand_distr::{Distribution, Normal};

use crate::base::{Purpose, Seed};

/// Mean and standard deviation of weight, length and width of a kind of fruit.
const FRUIT: [(&str, [(f64, f64); 3]); 3] = [
    ("apple", [(180.0, 30.0), (72.0, 5.0), (78.0, 5.0)]),
    ("pear", [(190.0, 30.0), (95.0, 8.0), (66.0, 5.0)]),
    ("plum", [(60.0, 12.0), (52.0, 5.0), (42.0, 4.0)]),
];

const ROWS: usize = 240;

/// The table as CSV, always the same bytes.
pub(super) fn table() -> String {
    let mut rng = Seed(7).stream(Purpose::Noise);
    let mut text = "weight_g,length_mm,width_mm,fruit\n".to_owned();
    for (name, sizes) in FRUIT.iter().cycle().take(ROWS) {
        for (mean, deviation) in sizes {
            let normal = Normal::new(*mean, *deviation);
            let drawn = normal.map_or(*mean, |normal| normal.sample(&mut rng));
            let _ = write!(text, "{drawn:.1},");
        }
        text.push_str(name);
        text.push('\n');
    }
    text
}
