//! [`Session`]: one invocation that runs cells, named by its start time in milliseconds.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
const MILLIS_A_SECOND: u64 = 1_000;

/// One invocation that runs cells. Slow drifts of the machine are similar for runs close together in a session.
///
/// Its name is its UTC start, `2026-11-21T19:05:33.250Z` (`2026-11-21T19:05:33Z` at a whole second, and in results of
/// versions that recorded whole seconds only). Start times of runs count from there.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    /// Seconds from the start in its name to `opened`.
    offset_s: f64,
    opened: Instant,
}

impl Session {
    /// A session that starts now.
    pub fn begin() -> Self {
        Self::at(SystemTime::now())
    }

    /// A session that starts now, with `now` as the wall-clock time.
    pub fn at(now: SystemTime) -> Self {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            id: name(since.as_millis() as u64),
            offset_s: f64::from(since.subsec_nanos() % 1_000_000) / 1e9,
            opened: Instant::now(),
        }
    }

    /// Continues the session `id` of another process, with `now` as the wall-clock time; `None` if `id` is no time or a
    /// future one.
    pub fn named(id: &str, now: SystemTime) -> Option<Self> {
        let since = now.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        let offset_s = since - millis_of(id)? as f64 / 1e3;
        (offset_s >= 0.0).then(|| Self {
            id: id.to_owned(),
            offset_s,
            opened: Instant::now(),
        })
    }

    /// The session's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seconds since its start, to the millisecond.
    pub fn seconds(&self) -> f64 {
        let seconds = self.offset_s + self.opened.elapsed().as_secs_f64();
        (seconds * 1e3).round() / 1e3
    }
}

/// Formats `millis` after 1970-01-01T00:00:00Z as date and time.
fn name(millis: u64) -> String {
    let whole = utc(millis / MILLIS_A_SECOND);
    match millis % MILLIS_A_SECOND {
        0 => whole,
        rest => format!("{}.{rest:03}Z", whole.trim_end_matches('Z')),
    }
}

/// The inverse of [`name`]; `None` for any other text.
fn millis_of(id: &str) -> Option<u64> {
    let Some((second, rest)) = id.split_once('.') else {
        return Some(second_of(id)? * MILLIS_A_SECOND);
    };
    let rest: u64 = rest.strip_suffix('Z')?.parse().ok()?;
    let millis = second_of(&format!("{second}Z"))? * MILLIS_A_SECOND + rest;
    (name(millis) == id).then_some(millis)
}

/// Formats `seconds` after 1970-01-01T00:00:00Z as date and time.
///
/// Years are counted from 1 March, so that the leap day is the last day of a year; an era of 400 years has 146,097 days
/// (Gregorian calendar).
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / SECONDS_A_DAY, seconds % SECONDS_A_DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: u64 = 719_468;
const DAYS_OF_ERA: u64 = 146_097;

/// Year, month and day of the day number `days` after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH_DAY;
    let (era, day) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - days_before_year(year);
    // Months counted from March; every five have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day)
}

/// Days of an era before its year `year`, which begins in March.
fn days_before_year(year: u64) -> u64 {
    365 * year + year / 4 - year / 100
}

/// The inverse of [`utc`]; `None` for any other text.
fn second_of(id: &str) -> Option<u64> {
    let (date, time) = id.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let (from_march, year) = if month > 2 {
        (month - 3, year)
    } else {
        (month + 9, year - 1)
    };
    let in_era = days_before_year(year % 400) + (153 * from_march + 2) / 5;
    let days = (year / 400 * DAYS_OF_ERA + in_era + day).checked_sub(EPOCH_DAY + 1)?;
    let seconds = days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    // Round trip as validation: a day or an hour out of range would give another text.
    (utc(seconds) == id).then_some(seconds)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let parts: Option<Vec<u64>> = text
        .split(separator)
        .map(|part| part.parse().ok())
        .collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn seconds_are_named_as_gnu_date_names_them() {
        // `date -u -d @SECONDS +%FT%TZ`
        for (seconds, name) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (1_795_287_933, "2026-11-21T19:05:33Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), name);
            assert_eq!(second_of(name), Some(seconds));
        }
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let mut before = civil(0);
        for day in 1..292_194 {
            let date = civil(day);
            let is_next_day = date.2 == before.2 + 1 && (date.0, date.1) == (before.0, before.1);
            assert!(is_next_day || date.2 == 1, "{before:?} {date:?}");
            assert_eq!(
                second_of(&utc(day * SECONDS_A_DAY)),
                Some(day * SECONDS_A_DAY)
            );
            before = date;
        }
    }

    #[test]
    fn what_names_no_moment_is_no_session() {
        for text in [
            "",
            "yesterday",
            "2026-11-21",
            "2026-11-21T19:05:33",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "99999-01-01T00:00:00Z",
            "2026-11-00T00:00:00Z",
            "2026-11-21T19:05:33.25Z",
            "2026-11-21T19:05:33.000Z",
            "2026-11-21T19:05:33.1000Z",
            "2026-11-21T19:05:33.250",
        ] {
            assert_eq!(millis_of(text), None, "{text}");
        }
        assert!(Session::named("1970-01-01T00:00:10Z", at(9)).is_none());
    }

    #[test]
    fn two_runs_within_one_second_are_two_sessions() {
        let first = Session::at(at(1_795_287_933) + Duration::from_millis(250));
        let second = Session::at(at(1_795_287_933) + Duration::from_millis(751));
        assert_eq!(first.id(), "2026-11-21T19:05:33.250Z");
        assert_eq!(second.id(), "2026-11-21T19:05:33.751Z");
        assert_eq!(millis_of(second.id()), Some(1_795_287_933_751));
    }

    #[test]
    fn another_process_counts_from_the_same_start() {
        let first = Session::at(at(1000) + Duration::from_micros(250_500));
        let other = Session::named(first.id(), at(1007));
        let other = other.expect("a session");
        assert_eq!(other.id(), first.id());
        assert_eq!((first.offset_s, other.offset_s), (0.0005, 6.75));
        assert!(first.seconds() >= 0.0005 && other.seconds() >= 6.75);
    }
}
