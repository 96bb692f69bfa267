//! Results of `ab`: writes the comparison of both results folders, or (A/A) the noise floor of this machine.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::ab::AbError;
use crate::base::text::count;
use crate::compare::{
    CellNoiseFloors, Comparison, MIN_FLOOR_SESSIONS, Options, Origin, Side, searches_beside,
};
use crate::diag::Failure;
use crate::plan::CellFilter;
use crate::results::{
    NoiseRow, PairSessions, csv_of, read, read_noise, relative_to_current_dir, write_if_changed,
};

use super::ab_run::AbRun;
use crate::cli::compare::words::{percent, without_nbsp};
use crate::cli::compare::{Pages, print_comparison};
use crate::cli::exit_code;
use crate::cli::output::{Stdout, print_failure};

impl AbRun<'_> {
    /// Prints the comparison of the two results folders, or with `--aa` the noise floors; returns the exit code.
    pub(super) fn print_conclusion(&self, session: &str) -> Result<u8, AbError> {
        let comparison = self.comparison()?;
        if self.arguments.aa {
            return self.keep_noise(&comparison, session);
        }
        let pages = Pages {
            folder: self.frame.folder(),
            languages: self.arguments.lang.clone(),
        };
        let told = print_comparison(comparison, &pages, &self.arguments.fail_on);
        // A closed pipe (`fieldtrial ab … | head`) is not an error.
        Ok(told.unwrap_or(exit_code::GOOD))
    }

    fn comparison(&self) -> Result<Comparison, AbError> {
        let noise = read_noise(&self.frame.results)?;
        let side = |place: usize| -> Result<Side, AbError> {
            let folder = self.results(place);
            let set = read(&folder)?;
            Ok(Side {
                name: self.sides[place].label.clone(),
                origin: Origin::Folder {
                    path: relative_to_current_dir(&folder)
                        .to_string_lossy()
                        .into_owned(),
                },
                searches: searches_beside(&self.frame.results, &set),
                until_sure: PairSessions::of(&self.frame.folder()).sessions_stopped_early(),
                set,
                noise: noise.clone(),
            })
        };
        let only = self.arguments.only.as_deref();
        let options = Options {
            across_env: false,
            only: only.map(CellFilter::parse).transpose()?,
            ..Options::default()
        };
        Ok(Comparison::between(side(0)?, side(1)?, &options)?)
    }

    fn keep_noise(&self, comparison: &Comparison, session: &str) -> Result<u8, AbError> {
        let new = comparison.noise(session);
        if new.is_empty() {
            let title = "no cell has six pairs: the noise of this machine stays as it was";
            print_failure(&Failure::without_source(title, None));
            return Ok(exit_code::FAILED);
        }
        let mut rows = read_noise(&self.frame.results)?;
        rows.extend(new.iter().cloned());
        fs::create_dir_all(&self.frame.results)?;
        let path = self.frame.results.join("noise.csv");
        write_if_changed(&path, &csv_of(&rows))?;
        let text = noise_text(&new, &rows, &relative_to_current_dir(&path));
        Stdout::new().write_all(text.as_bytes())?;
        Ok(exit_code::GOOD)
    }
}

/// Text: the noise floors of this session's cells, the number of sessions on this machine, and the path of `noise.csv`.
fn noise_text(new: &[NoiseRow], all: &[NoiseRow], path: &Path) -> String {
    let machine = new.first().map_or("", |row| row.env_id.as_str());
    let floors = CellNoiseFloors::new(all, machine);
    let width = new.iter().map(|row| row.key.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut lines = vec![
        "Noise of this machine, measured with two equal builds (time per sample, second ÷ first):"
            .to_owned(),
    ];
    let shown = |value: Option<f64>| value.map_or("unknown".into(), |v| without_nbsp(&percent(v)));
    for row in new {
        let floor = floors.of(&row.key, &row.cell_hash);
        let (within, between) = (shown(floor.within), shown(floor.between));
        let (key, pairs) = (&row.key, count(row.pairs, "pair"));
        let (low, value, high) = (row.ratio_low, row.ratio, row.ratio_high);
        lines.push(format!(
            "  {key:width$}  {value:.3} [{low:.3}, {high:.3}] of {pairs}; floor within a session {within}, between sessions {between}"
        ));
    }
    let of_machine = all.iter().filter(|row| row.env_id == machine);
    let sessions: HashSet<&str> = of_machine.map(|row| &*row.session).collect();
    let (there, path) = (count(sessions.len(), "session"), path.display());
    lines.push(format!("{there} of this machine in {path}"));
    let few = sessions.len() < MIN_FLOOR_SESSIONS;
    let needs = || {
        format!("; the floor between sessions needs {MIN_FLOOR_SESSIONS}, best on different days")
    };
    lines.join("\n") + &few.then(needs).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::assert_ends_with;

    fn row(session: usize, ratio: f64) -> NoiseRow {
        NoiseRow {
            env_id: "e".into(),
            session: format!("2026-11-2{session}T00:00:00Z"),
            key: "batch-size=8".into(),
            cell_hash: "h".into(),
            pairs: 8,
            median_ms_per_sample: 1.0 + 0.01 * session as f64,
            ratio,
            ratio_low: ratio - 0.02,
            ratio_high: ratio + 0.02,
        }
    }

    #[test]
    fn the_noise_between_sessions_is_shown_from_three_sessions_on() {
        let rows: Vec<NoiseRow> = (1..4).map(|session| row(session, 1.01)).collect();
        let one = noise_text(&rows[..1], &rows[..1], Path::new("reports/x/noise.csv"));
        assert_eq!(
            one,
            "Noise of this machine, measured with two equal builds (time per sample, second ÷ first):\n  \
             batch-size=8  1.010 [0.990, 1.030] of 8 pairs; floor within a session 3.0 %, between sessions unknown\n\
             1 session of this machine in reports/x/noise.csv; the floor between sessions needs 3, best on different days\n"
        );
        let three = noise_text(&rows[2..], &rows, Path::new("noise.csv"));
        assert_ends_with(&three, "3 sessions of this machine in noise.csv\n");
        assert!(!three.contains("unknown"), "{three}");
    }
}
