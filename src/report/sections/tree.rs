//! Where a run's time went, as a tree: exclusive leaves, a residual at each level, and sums that fit.

use crate::base::statistics::mean;
use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::event::RunTimes;
use crate::report::number::{Provenance, fixed, to_hundred};
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

use super::chosen::chosen;
use super::phases::PHASES;

/// The times of one cell's mean run.
#[derive(Debug, Clone, PartialEq)]
struct TimeTree {
    /// The cell in words.
    cell: String,
    /// Runs that the means rest on.
    n: usize,
    /// From the whole run inwards, each before its parts.
    nodes: Vec<TimeNode>,
}

/// A part of a run's time.
#[derive(Debug, Clone, PartialEq)]
struct TimeNode {
    /// How deep it lies: 0 is the run.
    depth: usize,
    name: &'static str,
    /// Mean seconds over the runs.
    seconds: f64,
    /// Percent of the run; the leaves sum to 100.0.
    share: f64,
    /// Whether it has no parts.
    is_leaf: bool,
}

/// Nested times of the cells that are shown in detail, a table each.
pub(crate) fn section(view: &View<'_>) -> Section {
    let tables = trees(view)
        .into_iter()
        .zip(1..)
        .map(|(tree, number)| table(&tree, number));
    let tables: Vec<Table> = tables.collect();
    if tables.is_empty() {
        return Section::default();
    }
    let about = "Means over the runs of a cell. Parts exclude each other and sum to what stands above them; the last part of \
                 each level is what the named ones leave.";
    Section {
        paragraphs: vec![about.to_owned()],
        tables,
        ..Section::titled("tree", "Where a run’s time went")
    }
}

fn table(tree: &TimeTree, number: usize) -> Table {
    let mean = Provenance::Measured(format!("mean of {}", count(tree.n, "run")));
    let share = Provenance::Derived("part ÷ run".into());
    let columns = vec![
        Column::text("part"),
        Column::number("time", "", &mean),
        Column::number("share", "%", &share),
    ];
    let rows = tree.nodes.iter().map(|node| Row {
        key: String::new(),
        fields: vec![
            // Spaces that stay: how deep a part lies.
            Entry::text(format!("{}{}", "\u{2003}".repeat(node.depth), node.name)),
            Entry::value(node.seconds, human_seconds(node.seconds)),
            Entry::value(node.share, fixed(node.share, 1)),
        ],
        missing: None,
    });
    let id = format!("tree-{number}");
    Table::of_rows((&id, &tree.cell, String::new()), columns, rows.collect())
}

/// One tree for each of the cells that are shown in detail.
fn trees(view: &View<'_>) -> Vec<TimeTree> {
    chosen(view)
        .into_iter()
        .filter_map(|cell| tree(view, cell))
        .collect()
}

fn tree(view: &View<'_>, cell: &Cell<'_>) -> Option<TimeTree> {
    let runs: Vec<(&BlockRow, &RunTimes)> = cell
        .counted
        .iter()
        .filter_map(|run| Some((*run, run.times.as_ref()?)))
        .collect();
    let over = |get: &dyn Fn(&BlockRow, &RunTimes) -> f64| {
        mean(
            &runs
                .iter()
                .map(|(run, times)| get(run, times))
                .collect::<Vec<f64>>(),
        )
    };
    let total = over(&|run, times| whole(run, times))?;
    let mut nodes = vec![node(0, "run", total)];
    let startup = over(&|_, times| times.startup_s)?;
    nodes.push(node(1, "start-up: data, model, weights", startup));
    let training = over(&|_, times| times.train_s)?;
    nodes.push(node(1, "training", training));
    let steps = over(&|_, times| seconds_of_steps(times, times.step_mean_ms))?;
    nodes.push(node(2, "measured steps", steps));
    // Phases of extra, synchronised steps are no part of these.
    if runs.iter().all(|(_, times)| times.observer_ratio.is_none()) {
        let mut rest = steps;
        for (name, phase) in PHASES {
            let seconds = over(&|_, times| seconds_of_steps(times, phase(&times.phases)))?;
            rest -= seconds;
            nodes.push(node(3, name, seconds));
        }
        nodes.push(node(3, "other", rest));
    }
    let rest = training - steps;
    nodes.push(node(
        2,
        "warm-up steps, loader start and stop, the rest",
        rest,
    ));
    let validation = over(&|_, times| times.validation_s)?;
    nodes.push(node(1, "validation and evaluation", validation));
    let assessment = over(&|_, times| times.assessment_s.unwrap_or(0.0))?;
    if assessment > 0.0 {
        nodes.push(node(1, "costly evaluation (first block)", assessment));
    }
    let rest = total - startup - training - validation - assessment;
    nodes.push(node(1, last_name(view, cell), rest));
    share_out(&mut nodes);
    Some(TimeTree {
        cell: view.name(cell, None),
        n: runs.len(),
        nodes,
    })
}

/// What a run does beside all that is named.
fn last_name(view: &View<'_>, cell: &Cell<'_>) -> &'static str {
    let measure = view.section(cell, "measure");
    let ops = measure.and_then(|measure| measure.get("ops")?.as_bool());
    if ops == Some(true) {
        "process start and end, checkpoints, profiled steps (first block), the rest"
    } else {
        "process start and end, checkpoints, the rest"
    }
}

/// The whole run as its parent saw it; what the worker saw where results of earlier versions lack that.
fn whole(run: &BlockRow, times: &RunTimes) -> f64 {
    let inside = times.total_s + times.assessment_s.unwrap_or(0.0);
    run.wall_s.unwrap_or(inside)
}

fn seconds_of_steps(times: &RunTimes, ms: f64) -> f64 {
    times.measured_steps as f64 * ms / 1e3
}

fn node(depth: usize, name: &'static str, seconds: f64) -> TimeNode {
    TimeNode {
        depth,
        name,
        seconds,
        share: 0.0,
        is_leaf: true,
    }
}

/// Gives leaves shares that sum to 100.0, and each other node the sum of its leaves.
fn share_out(nodes: &mut [TimeNode]) {
    let depths: Vec<usize> = nodes.iter().map(|node| node.depth).collect();
    let ends = |place: usize| {
        let after = depths[place + 1..]
            .iter()
            .position(|depth| *depth <= depths[place]);
        after.map_or(depths.len(), |after| place + 1 + after)
    };
    let whole = nodes[0].seconds;
    let leaves: Vec<usize> = (0..nodes.len())
        .filter(|&place| ends(place) == place + 1)
        .collect();
    let exact: Vec<f64> = leaves
        .iter()
        .map(|&leaf| nodes[leaf].seconds / whole * 100.0)
        .collect();
    let shares = to_hundred(&exact);
    for (place, node) in nodes.iter_mut().enumerate() {
        let inside = place..ends(place);
        let own = leaves.iter().zip(&shares);
        let own = own.filter(|(leaf, _)| inside.contains(*leaf));
        node.share = own.map(|(_, share)| share).sum();
        node.is_leaf = inside.len() == 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn leaves_sum_to_the_run_and_each_node_to_its_parts() {
        let set = ddpm();
        let trees = trees(&View::of(&set));
        assert!(!trees.is_empty());
        for tree in &trees {
            let leaves = || tree.nodes.iter().filter(|node| node.is_leaf);
            let sum: f64 = leaves().map(|node| node.seconds).sum();
            assert!((sum - tree.nodes[0].seconds).abs() < 1e-9, "{tree:?}");
            let shares: f64 = leaves().map(|node| node.share).sum();
            assert!((shares - 100.0).abs() < 1e-9, "{tree:?}");
            let steps = tree.nodes.iter().find(|node| node.name == "measured steps");
            let steps = steps.expect("steps").seconds;
            let phases: f64 = tree
                .nodes
                .iter()
                .filter(|node| node.depth == 3)
                .map(|node| node.seconds)
                .sum();
            assert!((steps - phases).abs() < 1e-9, "{tree:?}");
        }
    }

    #[test]
    fn the_whole_run_is_what_its_parent_saw() {
        let set = ddpm();
        let view = View::of(&set);
        let tree = &trees(&view)[0];
        let mut runs = view
            .cells
            .iter()
            .filter(|cell| view.name(cell, None) == tree.cell);
        let walls: Vec<f64> = runs
            .next()
            .expect("the cell")
            .counted
            .iter()
            .filter_map(|run| run.wall_s)
            .collect();
        let expected = walls.iter().sum::<f64>() / walls.len() as f64;
        assert!((tree.nodes[0].seconds - expected).abs() < 1e-12);
    }
}
