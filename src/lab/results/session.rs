//! [`Session`]: one invocation that runs cells, named by its start time in milliseconds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, format_rfc3339_seconds, parse_rfc3339};

/// One invocation that runs cells. Slow drifts of the machine are similar for runs close together in a session.
///
/// The session's name is its UTC start, `2026-11-21T19:05:33.250Z` (`2026-11-21T19:05:33Z` at a whole second, and in
/// results of versions that recorded whole seconds only). Start times of runs are counted from this time.
#[derive(Debug, Clone)]
pub struct Session {
    id: String,
    /// Seconds from the start time in the session's name to `opened`.
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

    /// Continues the session `id` of another process, with `now` as the wall-clock time; `None` if `id` is no valid
    /// time or lies in the future.
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

    /// Seconds since the session's start, rounded to milliseconds.
    pub fn seconds(&self) -> f64 {
        let seconds = self.offset_s + self.opened.elapsed().as_secs_f64();
        (seconds * 1e3).round() / 1e3
    }
}

/// The time `seconds` after the start of a session, in milliseconds since 1970 as [`millis_of`] returns them; `None`
/// for an invalid name or a time after the year 9999.
pub(super) fn millis_after_start(session: &str, seconds: f64) -> Option<u64> {
    let after = (seconds * 1e3).round() as u64;
    let moment = millis_of(session)?.checked_add(after)?;
    (moment < 253_402_300_800_000).then_some(moment)
}

/// The ID of a session that began `millis` milliseconds after 1970-01-01T00:00:00Z: that time, as GNU `date` writes it.
pub(super) fn name(millis: u64) -> String {
    let start = UNIX_EPOCH + Duration::from_millis(millis);
    if millis.is_multiple_of(1000) {
        format_rfc3339_seconds(start).to_string()
    } else {
        format_rfc3339_millis(start).to_string()
    }
}

/// Milliseconds from 1970-01-01T00:00:00Z to a time written as in a session's name; `None` for any other text.
pub fn millis_of(id: &str) -> Option<u64> {
    let start = parse_rfc3339(id).ok()?;
    let millis = start.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64;
    (name(millis) == id).then_some(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn seconds_are_named_as_gnu_date_names_them() {
        // Expected texts: `date -u -d @SECONDS +%FT%TZ`
        for (seconds, text) in [
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
            assert_eq!(name(seconds * 1000), text);
            assert_eq!(millis_of(text), Some(seconds * 1000));
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
