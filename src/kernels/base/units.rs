//! Numbers as text: the shortest exact form for machines, rounded with a unit for people.

/// Returns the shortest text that parses back to the same number; `None` if it is not finite. Integers have no `.0` and
/// zero has no sign.
pub fn shortest(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some("0".to_owned());
    }
    let text = format!("{value:?}");
    Some(text.strip_suffix(".0").map_or(text.clone(), str::to_owned))
}

/// Returns `value` rounded to `digits` significant digits.
pub fn round_significant(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() || digits == 0 {
        return value;
    }
    // Round through decimal text: the result is the number nearest to the printed digits.
    let precision = digits - 1;
    format!("{value:.precision$e}").parse().unwrap_or(value)
}

/// Returns `value` rounded to a multiple of `10^exponent`.
pub fn round_to_exponent(value: f64, exponent: i32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    if exponent <= 0 {
        let decimals = exponent.unsigned_abs() as usize;
        return format!("{value:.decimals$}").parse().unwrap_or(value);
    }
    let step = 10f64.powi(exponent);
    (value / step).round() * step
}

/// Returns the exponent of the leading decimal digit: 2 for 250, −1 for 0.3. 0 for zero.
pub fn exponent_of(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // The text form is exact; a logarithm may be off by one at powers of ten.
    format!("{value:e}")
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

/// Returns a number for people, to `digits` significant digits, with commas between thousands and without an exponent
/// between 0.0001 and 10¹³.
pub fn human(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    let rounded = round_significant(value, digits);
    let exponent = exponent_of(rounded);
    if rounded == 0.0 {
        return "0".to_owned();
    }
    if !(-4..13).contains(&exponent) {
        let precision = digits.saturating_sub(1);
        return format!("{rounded:.precision$e}");
    }
    let last = i32::try_from(digits).unwrap_or(i32::MAX) - 1;
    let decimals = usize::try_from(last - exponent).unwrap_or(0);
    grouped(&format!("{rounded:.decimals$}"))
}

/// Returns a whole number with commas between thousands.
pub fn human_integer(value: u64) -> String {
    grouped(&value.to_string())
}

fn grouped(text: &str) -> String {
    let (sign, rest) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = rest
        .split_once('.')
        .map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(part) = fraction {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// Returns bytes in a binary unit, to three digits: `489 MiB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{} {}", human(value, 3), UNITS[unit])
    }
}

/// Returns a duration for people, to three digits: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 10 min`.
pub fn human_seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    if seconds.abs() < 1.0 {
        return format!("{} ms", human(seconds * 1e3, 3));
    }
    if seconds < 120.0 {
        return format!("{} s", human(seconds, 3));
    }
    let whole = seconds.round() as u64;
    if whole < 7200 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

/// Returns a count of operations with an SI prefix, to three digits: `5.10 GFLOP`.
pub fn human_si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let mut scaled = value;
    let mut prefix = 0;
    while scaled.abs() >= 1000.0 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    format!("{} {}{unit}", human(scaled, 3), PREFIXES[prefix])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_text_reads_back() {
        for (value, text) in [
            (5e-5, "5e-5"),
            (0.1, "0.1"),
            (3.0, "3"),
            (-0.0, "0"),
            (5_100_000_000.0, "5100000000"),
            (0.000_123, "0.000123"),
        ] {
            assert_eq!(shortest(value).as_deref(), Some(text));
            assert_eq!(text.parse::<f64>().ok(), Some(value));
        }
        assert_eq!(shortest(f64::NAN), None);
    }

    #[test]
    fn rounding_is_decimal() {
        assert_eq!(
            shortest(round_significant(123.456, 3)).as_deref(),
            Some("123")
        );
        assert_eq!(
            shortest(round_significant(0.012_34, 2)).as_deref(),
            Some("0.012")
        );
        assert_eq!(
            shortest(round_to_exponent(123.456, -1)).as_deref(),
            Some("123.5")
        );
        assert_eq!(
            shortest(round_to_exponent(1_234.5, 2)).as_deref(),
            Some("1200")
        );
        assert_eq!(exponent_of(1000.0), 3);
        assert_eq!(exponent_of(0.099), -2);
    }

    #[test]
    fn numbers_for_people_have_separators_and_units() {
        assert_eq!(human(12_817_859.0, 8), "12,817,859");
        assert_eq!(human(65.554, 3), "65.6");
        assert_eq!(human(-1234.5, 3), "-1,230");
        assert_eq!(human(0.000_02, 2), "2.0e-5");
        assert_eq!(human_integer(1_000), "1,000");
        assert_eq!(human_bytes(512), "512 B");
        assert_eq!(human_bytes(51_271_436), "48.9 MiB");
        assert_eq!(human_seconds(245.2), "4 min 05 s");
        assert_eq!(human_seconds(0.85), "850 ms");
        assert_eq!(human_si(5.1e9, "FLOP"), "5.10 GFLOP");
    }
}
