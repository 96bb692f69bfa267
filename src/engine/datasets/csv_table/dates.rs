//! Dates in tables: parsing by format, conversion to days, and [`DatePart`], the periodic parts of a date.

use jiff::civil::Weekday;
use jiff::fmt::strtime::BrokenDownTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Common formats of dates in `strptime` notation, the likeliest first.
pub(super) const DATE_FORMATS: [&str; 20] = [
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y/%m/%d",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%d.%m.%Y %H:%M",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%d %H:%M:%S%z",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%b %d, %Y",
    "%b %d %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
];

/// A periodic part of a date, used as a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatePart {
    /// `1` to `12`.
    Month,
    /// `Monday` to `Sunday`.
    Weekday,
    /// `0` to `23`.
    Hour,
}

impl DatePart {
    /// The part of a date; `None` for a time without a date.
    pub(super) fn of(self, time: &BrokenDownTime) -> Option<String> {
        Some(match self {
            Self::Month => time.to_date().ok()?.month().to_string(),
            Self::Weekday => weekday(time.to_date().ok()?.weekday()).to_owned(),
            Self::Hour => time.hour().unwrap_or_default().to_string(),
        })
    }

    /// The part's name in names of features.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// The date of a text in the `strptime` format `form`; `%z` matches `+0130` and `+01:30`. `None` if the text does not
/// match.
pub(super) fn parse_date(form: &str, text: &str) -> Option<BrokenDownTime> {
    let with_colon = || BrokenDownTime::parse(form.replace("%z", "%:z"), text);
    BrokenDownTime::parse(form, text)
        .or_else(|_| with_colon())
        .ok()
}

/// Days since 2000-01-01 for a date in the `strptime` format `form`, in UTC if it has an offset; `None` if the text does
/// not match.
pub(super) fn days(form: &str, text: &str) -> Option<f32> {
    let time = parse_date(form, text)?;
    let date = time.to_date().ok()?;
    let begin = jiff::civil::date(2000, 1, 1);
    let whole = date.since((jiff::Unit::Day, begin)).ok()?.get_days();
    let clock = time.to_time().unwrap_or(jiff::civil::Time::midnight());
    let seconds = f64::from(clock.hour()) * 3600.0
        + f64::from(clock.minute()) * 60.0
        + f64::from(clock.second())
        - f64::from(time.offset().map_or(0, jiff::tz::Offset::seconds));
    Some((f64::from(whole) + seconds / 86_400.0) as f32)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{columns, features, message, table};
    use super::days;
    use crate::base::Seed;

    #[test]
    fn a_date_with_an_offset_is_in_utc() {
        let form = "%Y-%m-%dT%H:%M:%S%z";
        let noon = days(form, "2000-01-02T12:00:00+0000");
        assert_eq!(noon, Some(1.5));
        assert_eq!(days(form, "2000-01-02T13:00:00+01:00"), noon);
        assert_eq!(days(form, "2000-01-02T06:30:00-0530"), noon);
        assert_eq!(days(form, "2000-01-02T12:00:00"), None);
    }

    #[test]
    fn parts_of_a_date_are_categories_beside_its_days() {
        // pandas: 2024-02-29 was a Thursday, 2024-12-01 a Sunday.
        let text = "at,y\n2024-02-29 07:59:59,1\n2024-12-01 23:00:00,2\n,3\n";
        let (_folder, mut spec) = table(text);
        (spec.validation, spec.test) = (0.0, 0.0);
        let form = "date = \"%Y-%m-%d %H:%M:%S\"";
        spec.columns = columns(&format!(
            "at = {{ {form}, missing = \"median\", parts = [\"weekday\", \"hour\", \"month\"] }}"
        ));
        let open = spec.open(Seed(1)).unwrap();
        let names = &open.dataset.normalisation().columns;
        assert_eq!(
            names[..4],
            [
                "at",
                "at weekday is missing",
                "at weekday=Sunday",
                "at weekday=Thursday"
            ]
        );
        assert_eq!(
            names[4..7],
            ["at hour is missing", "at hour=23", "at hour=7"]
        );
        assert_eq!(
            names[7..],
            ["at month is missing", "at month=12", "at month=2"]
        );
        let rows: Vec<Vec<f32>> = features(&open, &[0, 1, 2])
            .chunks(10)
            .map(<[f32]>::to_vec)
            .collect();
        assert_eq!(rows[0][1..], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(rows[1][1..], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(rows[2][1..], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        spec.columns = columns("at = { parts = [\"hour\"] }");
        assert!(message(&spec).contains("has `parts`, which are those of a `date`"));
        spec.columns = columns(&format!("at = {{ {form}, parts = [\"hour\", \"hour\"] }}"));
        assert!(message(&spec).contains("names a part twice"));
    }
}
