//! [`IDENTITY`]: the columns that identify a row (key, seed, axes …).

use super::datatype::Datatype;

/// Name, type, unit and meaning of the identifying columns of all tables, including those of `timings.csv` before its
/// times.
pub(crate) const IDENTITY: [(&str, Datatype, &str, &str); 5] = [
    (
        "key",
        Datatype::Text,
        "",
        "Cell (one configuration), as its axis values",
    ),
    ("seed", Datatype::Whole, "1", "Seed of the run"),
    (
        "n",
        Datatype::Whole,
        "1",
        "Number of runs of the cell that its times are taken from",
    ),
    (
        "interval",
        Datatype::Text,
        "",
        "Kind of the intervals: `bootstrap95` and `anytime95` (95 %), `range` (smallest and largest run), `single` (one run, no interval)",
    ),
    (
        "outliers",
        Datatype::Whole,
        "1",
        "Number of these runs whose step time is an outlier (1.5 interquartile ranges); they count",
    ),
];
