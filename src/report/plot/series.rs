//! Content of plots: points with their intervals and runs, by series; and their reduction if there are too many.

use crate::base::statistics::{median, range};

/// Most points of a drawn series; with more, groups of neighbouring points are replaced by median and range.
pub(crate) const MAX_SERIES_POINTS: usize = 120;

/// A series: one line, or one kind of point.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Series {
    /// Name in the legend.
    pub(crate) name: String,
    /// Points, from left to right.
    pub(crate) points: Vec<Point>,
    /// Whether intervals are drawn as a band around the line instead of whiskers at the points.
    pub(crate) is_band: bool,
}

/// A point of a series, with its interval, the values of its runs, label and link.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Point {
    /// Value on the x axis.
    pub(crate) x: f64,
    /// Value on the y axis.
    pub(crate) y: f64,
    /// Lower and upper end of the point's interval; `None` for a single run.
    pub(crate) interval: Option<(f64, f64)>,
    /// Values of the single runs, drawn as small dots; empty if they are unknown or equal the point.
    pub(crate) runs: Vec<f64>,
    /// Text beside the point, if a scatter plot has space; empty for no label.
    pub(crate) label: String,
    /// Tooltip of the point.
    pub(crate) about: String,
    /// Id of the table row that the point links to; empty for none.
    pub(crate) link: String,
}

impl Series {
    /// Points under a name, with whiskers.
    pub(crate) fn of(name: &str, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            name: name.to_owned(),
            points: points.into_iter().collect(),
            is_band: false,
        }
    }

    /// A series of at most [`MAX_SERIES_POINTS`] points: with more, groups of neighbouring points are replaced by their
    /// median, and their range is drawn as a band. Points must be sorted by x.
    pub(crate) fn condensed(self) -> Self {
        if self.points.len() <= MAX_SERIES_POINTS {
            return self;
        }
        let stretch = self.points.len().div_ceil(MAX_SERIES_POINTS / 2);
        let points = self.points.chunks(stretch).filter_map(|part| {
            let xs: Vec<f64> = part.iter().map(|point| point.x).collect();
            let ys: Vec<f64> = part.iter().map(|point| point.y).collect();
            let (low, high) = range(&ys)?;
            Some(Point {
                x: median(&xs)?,
                y: median(&ys)?,
                interval: Some((low, high)),
                about: format!("{}: median and range of {} points", self.name, part.len()),
                ..Point::default()
            })
        });
        Self {
            points: points.collect(),
            is_band: true,
            name: self.name,
        }
    }

    /// Text of the series for screen readers.
    pub(super) fn described(&self) -> String {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return format!("{}: no points.", self.name);
        };
        let show = |value: f64| crate::base::units::human(value, 4);
        let place = |point: &Point| format!("{} at {}", show(point.y), show(point.x));
        match self.points.len() {
            1 => format!("{}: {}.", self.name, place(first)),
            n => format!(
                "{}: {n} points, from {} to {}.",
                self.name,
                place(first),
                place(last)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(count: usize) -> Series {
        let point = |i: usize| Point {
            x: i as f64,
            y: (i % 7) as f64,
            ..Point::default()
        };
        Series {
            name: "a".into(),
            points: (0..count).map(point).collect(),
            is_band: false,
        }
    }

    #[test]
    fn few_points_stay_and_many_become_medians_with_their_range() {
        assert_eq!(line(MAX_SERIES_POINTS).condensed(), line(MAX_SERIES_POINTS));
        let many = line(10_000).condensed();
        assert!(many.is_band && many.points.len() <= MAX_SERIES_POINTS);
        // The first of the groups has 167 points with values 0 to 6: its median is 3, at x = 83.
        let first = &many.points[0];
        assert_eq!(first.interval, Some((0.0, 6.0)));
        assert!((first.y - 3.0).abs() < 1e-12 && (first.x - 83.0).abs() < 1e-12);
    }

    #[test]
    fn a_series_is_described_by_its_ends() {
        assert_eq!(line(0).described(), "a: no points.");
        assert_eq!(line(1).described(), "a: 0 at 0.");
        assert_eq!(
            line(3).described(),
            "a: 3 points, from 0 at 0 to 2.000 at 2.000."
        );
    }
}
