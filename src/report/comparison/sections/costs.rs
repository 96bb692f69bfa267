//! Costs of runs other than time: one sentence for all costs with equal verdicts.

use std::cmp::Reverse;

use crate::base::text::capitalised;
use crate::compare::{Cost, CostChange, CostOverCells, UnclearReason, Verdict};
use crate::report::comparison::Words;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;

messages! {
    cost_cpu_time() = "CPU time" | "CPU-Zeit";
    cost_memory() = "peak memory" | "Spitzenspeicher";
    cost_gpu_memory() = "peak GPU memory" | "GPU-Spitzenspeicher";
    cost_energy() = "energy" | "Energie";
    takes_less() = "less" | "weniger";
    takes_more() = "more" | "mehr";
    unclear_between() = "unclear between two sessions" | "zwischen zwei Sitzungen unklar";
    costs_say(costs, verdicts) = "{costs}: {verdicts}." | "{costs}: {verdicts}.";
    verdict_in(verdict, count) = "{verdict} in {count}" | "{verdict} in {count}";
    of_cells(verdicts, cells) = "{verdicts} of {cells} cells" | "{verdicts} von {cells} Zellen";
    costs_together(verdict, costs) = "All cells together take {verdict}: {costs}." | "Alle Zellen zusammen brauchen {verdict}: {costs}.";
}

impl Words {
    /// Name of a cost.
    pub(crate) fn cost(self, cost: Cost) -> String {
        match cost {
            Cost::CpuTime => self.cost_cpu_time(),
            Cost::Memory => self.cost_memory(),
            Cost::GpuMemory => self.cost_gpu_memory(),
            Cost::Energy => self.cost_energy(),
        }
    }

    /// A value of a cost, with its unit.
    pub(crate) fn cost_value(self, cost: Cost, value: f64) -> String {
        match cost {
            Cost::CpuTime => self.seconds(value),
            Cost::Memory | Cost::GpuMemory => self.bytes(value),
            Cost::Energy => format!("{} J", self.number(value, 3)),
        }
    }
}

/// Whether a pair's cost is mentioned: if it is higher or lower, and peak memory always.
pub(crate) fn is_mentioned(own: &CostChange) -> bool {
    own.is_effect() || own.cost == Cost::Memory
}

/// Sentences: numbers of cells by verdict, one sentence for costs with equal numbers; then the costs that are higher or
/// lower over all cells together.
pub(crate) fn summary(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let mut told: Vec<(Vec<String>, String)> = Vec::new();
    for cost in Cost::ALL {
        let Some(verdicts) = verdicts(scene, cost) else {
            continue;
        };
        match told.iter_mut().find(|(_, known)| *known == verdicts) {
            Some((names, _)) => names.push(words.cost(cost)),
            None => told.push((vec![words.cost(cost)], verdicts)),
        }
    }
    let sentences = told.into_iter().map(|(names, verdicts)| {
        let names = words.listed(&names, Cost::ALL.len());
        words.costs_say(capitalised(&names), verdicts)
    });
    let together = [Verdict::More, Verdict::Less];
    let together = together
        .iter()
        .filter_map(|verdict| together_take(scene, verdict));
    sentences.chain(together).collect()
}

/// `more in 1, same in 5 of 6 cells`: effects first, then the most frequent verdict; for one cell `more`. `None` if no
/// cell has this cost.
fn verdicts(scene: &Scene<'_>, cost: Cost) -> Option<String> {
    let words = scene.words;
    let costs = scene.comparison.cells.iter().flat_map(|pair| &pair.costs);
    let mut found: Vec<(String, usize, bool)> = Vec::new();
    for own in costs.filter(|own| own.cost == cost) {
        let word = match &own.judgement.verdict {
            Verdict::Unclear(UnclearReason::OtherSession) => words.unclear_between(),
            verdict => words.verdict(verdict, None),
        };
        match found.iter_mut().find(|(known, ..)| *known == word) {
            Some((_, count, _)) => *count += 1,
            None => found.push((word, 1, own.is_effect())),
        }
    }
    if scene.comparison.cells.len() == 1 {
        return found.pop().map(|(word, ..)| word);
    }
    found.sort_by_key(|(_, count, is_effect)| Reverse((*is_effect, *count)));
    let cells: usize = found.iter().map(|(_, count, _)| count).sum();
    let parts = found.into_iter();
    let parts = parts.map(|(word, count, _)| words.verdict_in(word, words.count(count)));
    let parts = parts.collect::<Vec<String>>().join(", ");
    (cells > 0).then(|| words.of_cells(parts, words.count(cells)))
}

/// The costs with this verdict over all cells together, with their ratios; costs for which every single cell has the
/// verdict are left out.
fn together_take(scene: &Scene<'_>, verdict: &Verdict) -> Option<String> {
    let words = scene.words;
    let name = |own: &CostOverCells| {
        let matrix = own.matrix.as_ref().filter(|of| of.verdict == *verdict)?;
        let cells = scene.comparison.cells.iter().flat_map(|pair| &pair.costs);
        let mut cells = cells.filter(|cell| cell.cost == own.cost);
        if cells.all(|cell| cell.judgement.verdict == *verdict) {
            return None;
        }
        let ratio = format!("{}×", words.ratio(matrix.ratio.value));
        let ends = scene.with_environment_note(words.ends(&matrix.ratio));
        Some(format!("{} {ratio} ({ends})", words.cost(own.cost)))
    };
    let names: Vec<String> = scene.comparison.costs.iter().filter_map(name).collect();
    let names = (!names.is_empty()).then(|| words.listed(&names, Cost::ALL.len()))?;
    Some(words.costs_together(words.verdict(verdict, None), names))
}
