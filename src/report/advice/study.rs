//! [`WorkGroup`]: one kind of work, the cell that recommendations change, and the cells that can be compared with it.

use std::borrow::Cow;

use serde_json::Value;

use crate::plan::{Claim, PredictedColumn};
use crate::report::sections::difference::part;
use crate::report::sections::machine;
use crate::report::sections::ranking::{is_baseline, not_comparable};
use crate::report::timing::timing_value;
use crate::report::view::{Cell, View};
use crate::results::by_key;

use super::outcome::Outcome;
use super::recommendation::{Predicted, Recommendation};

/// Largest number of studies with recommendations; those whose runs took most time are kept.
const STUDIES: usize = 3;
/// Sections of a cell that determine its work and its time.
const SECTIONS: [&str; 6] = ["model", "dataset", "loss", "train", "loader", "validation"];

/// A study: the measured cells of one kind of work in one environment.
pub(super) struct WorkGroup<'v, 'a> {
    /// All results.
    pub(super) view: &'v View<'a>,
    /// The cell that a recommendation changes.
    pub(super) anchor: &'v Cell<'a>,
    /// Measured cells of the same work, code and environment, including the anchor, in plan order.
    pub(super) cells: Vec<&'v Cell<'a>>,
}

impl<'v, 'a> WorkGroup<'v, 'a> {
    /// One study per work signature: first the study with the declared baseline, then by total time of the runs,
    /// longest first.
    pub(super) fn all(view: &'v View<'a>, outcomes: &[Outcome]) -> Vec<Self> {
        // A search has no studies: its trials differ in all parameters at once, and `best.toml` says what to run next.
        if view.set.plan.search.is_some() {
            return Vec::new();
        }
        let works = by_key(view.measured(), |cell| &cell.info.work_signature);
        let mut studies: Vec<(bool, f64, Self)> = Vec::new();
        for cells in works.into_values() {
            let declared = cells.iter().copied().find(|cell| is_baseline(view, cell));
            let speed = |cell: &Cell<'_>| timing_value(cell, "samples_per_s").unwrap_or(0.0);
            let fastest = cells.iter().copied();
            let fastest = fastest.max_by(|a, b| speed(a).total_cmp(&speed(b)));
            let Some(start) = declared.or(fastest) else {
                continue;
            };
            let anchor = confirmed(start, &cells, outcomes);
            let total_s = |cell: &&Cell<'_>| timing_value(cell, "total_s").unwrap_or(0.0);
            let seconds = cells.iter().map(total_s).sum();
            let like = |cell: &&Cell<'_>| not_comparable(view, cell, anchor).is_none();
            let cells = cells.iter().copied().filter(like).collect();
            let study = Self {
                view,
                anchor,
                cells,
            };
            studies.push((declared.is_none(), seconds, study));
        }
        // The sort is stable: studies with equal keys stay in the order of their signatures.
        studies.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let studies = studies.into_iter().take(STUDIES);
        studies.map(|(_, _, study)| study).collect()
    }

    /// The value of a setting by its dotted path, or of a command's parameter (`models.NAME.PARAMETER`); null if it is
    /// not set, or if a command's `run` does not use it.
    pub(super) fn setting(&self, cell: &Cell<'a>, path: &str) -> &'a Value {
        if let Some(name) = parameter_of(path) {
            let parameter = part(self.view, cell, &format!("model.parameters.{name}"));
            let value = parameter.map(|table| table.get("default").unwrap_or(table));
            return value.unwrap_or(&Value::Null);
        }
        let run = || part(self.view, cell, "model.run").unwrap_or(&Value::Null);
        if cell.is_of_command && !names_setting(run(), path) {
            return &Value::Null;
        }
        part(self.view, cell, path).unwrap_or(&Value::Null)
    }

    /// Value of the setting at `path` as a number.
    pub(super) fn number(&self, cell: &Cell<'a>, path: &str) -> Option<f64> {
        self.setting(cell, path).as_f64()
    }

    /// A recommendation to change a setting of the anchor, with a predicted gain of throughput. The caller fills in the
    /// texts, and another column if needed.
    pub(super) fn change(
        &self,
        setting: impl Into<Cow<'static, str>>,
        to: impl Into<Value>,
        predicted: Predicted,
    ) -> Recommendation {
        let setting = setting.into();
        Recommendation {
            // Rule and study are set by the caller of the rules, in `advice_data.rs`.
            rule: "",
            study: 0,
            cell: self.anchor.info.key.clone(),
            name: self.view.name(self.anchor, None),
            from: self.setting(self.anchor, &setting).clone(),
            setting,
            to: to.into(),
            column: PredictedColumn::SamplesPerS,
            claim: Claim::Gain,
            predicted,
            triggers: String::new(),
            formula: String::new(),
            reasoning: String::new(),
        }
    }

    /// The cells that differ from the anchor only in the number at `path`, including the anchor, sorted by that number.
    pub(super) fn along(&self, path: &str) -> Vec<(f64, &'v Cell<'a>)> {
        let cells = self.cells.iter().copied();
        let alike = cells.filter(|cell| self.differs_only(cell, path));
        let found = alike.filter_map(|cell| Some((self.number(cell, path)?, cell)));
        let mut found: Vec<(f64, &Cell<'_>)> = found.collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    /// The cells that differ from the anchor only in the setting at `path`, without the anchor, in plan order.
    pub(super) fn others(&self, path: &str) -> Vec<&'v Cell<'a>> {
        let cells = self.cells.iter().copied();
        let others = cells.filter(|cell| cell.info.key != self.anchor.info.key);
        others
            .filter(|cell| self.differs_only(cell, path))
            .collect()
    }

    /// The measured cell that differs from the anchor only in the setting at `path`, with the value `value`.
    pub(super) fn at(&self, path: &str, value: &Value) -> Option<&'v Cell<'a>> {
        let mut others = self.others(path).into_iter();
        others.find(|cell| self.setting(cell, path) == value)
    }

    /// Logical cores of the machine that the anchor was measured on.
    pub(super) fn cores(&self) -> Option<f64> {
        machine::cores(self.view, &self.anchor.timing?.env_id)
    }

    /// Memory in bytes of the machine that the anchor was measured on.
    pub(super) fn memory(&self) -> Option<f64> {
        machine::memory_bytes(self.view, self.anchor)
    }

    fn differs_only(&self, cell: &Cell<'a>, path: &str) -> bool {
        let (section, key) = path.split_once('.').unwrap_or((path, ""));
        SECTIONS.iter().all(|name| {
            let one = self.view.section(cell, name);
            let other = self.view.section(self.anchor, name);
            one == other || *name == section && same_but(one, other, key)
        })
    }
}

/// Whether the command line `run` contains a placeholder for a setting or a part of it: `{train.batch-size}`.
pub(super) fn names_setting(run: &Value, path: &str) -> bool {
    let words = run.as_array().into_iter().flatten();
    let mut words = words.filter_map(Value::as_str);
    words.any(|word| {
        ["}", "."]
            .iter()
            .any(|end| word.contains(&format!("{{{path}{end}")))
    })
}

/// The parameter in the path of a command's parameter: `lr` of `models.NAME.lr`.
pub(super) fn parameter_of(path: &str) -> Option<&str> {
    path.strip_prefix("models.")?.rsplit('.').next()
}

fn same_but(one: Option<&Value>, other: Option<&Value>, key: &str) -> bool {
    let rest = |value: Option<&Value>| {
        let mut fields = value?.as_object()?.clone();
        fields.remove(key);
        Some(fields)
    };
    one.is_some() && rest(one) == rest(other)
}

/// The cell that applies the confirmed recommendation for `start` with the largest gain; `start` itself if none was
/// confirmed.
fn confirmed<'v, 'a>(
    start: &'v Cell<'a>,
    cells: &[&'v Cell<'a>],
    outcomes: &[Outcome],
) -> &'v Cell<'a> {
    let of_start = outcomes
        .iter()
        .filter(|outcome| outcome.reference == start.info.key && outcome.should_be_kept());
    let cell = |of: &Outcome| cells.iter().find(|cell| cell.info.key == of.cell);
    let gains = of_start.filter_map(|outcome| Some((outcome.gain(), cell(outcome)?)));
    // Of equal gains the first is taken.
    let best = gains.rev().max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(start, |(_, cell)| cell)
}
