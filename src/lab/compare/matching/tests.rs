use super::*;
use crate::plan::AxisKind;

/// A plan with these axes; a cell is given by its values and its hash.
fn plan(axes: &[(&str, &str)], cells: &[(&[&str], &str)]) -> PlanFile {
    let infos = axes.iter().enumerate().map(|(place, (name, path))| {
        let mut values: Vec<std::sync::Arc<str>> = Vec::new();
        for (texts, _) in cells {
            let text: std::sync::Arc<str> = texts[place].into();
            if !texts[place].is_empty() && !values.contains(&text) {
                values.push(text);
            }
        }
        AxisInfo {
            name: (*name).into(),
            path: (*path).into(),
            kind: AxisKind::Category,
            values,
        }
    });
    let cell = |(texts, hash): &(&[&str], &str)| {
        let pairs = axes.iter().zip(*texts).filter(|(_, text)| !text.is_empty());
        let pairs: Vec<String> = pairs
            .map(|((name, _), text)| format!("{name}={text}"))
            .collect();
        CellInfo {
            key: pairs.join(","),
            axes: texts.iter().map(|text| (*text).to_owned()).collect(),
            cell_hash: (*hash).into(),
            ..CellInfo::default()
        }
    };
    PlanFile {
        axes: infos.collect(),
        cells: cells.iter().map(cell).collect(),
        ..PlanFile::default()
    }
}

const BATCH: (&str, &str) = ("batch-size", "train.batch-size");
const WORKERS: (&str, &str) = ("workers", "loader.workers");

fn pairs(pairs: &[Pair]) -> Vec<(usize, usize, MatchedBy)> {
    pairs
        .iter()
        .map(|pair| (pair.before, pair.after, pair.by))
        .collect()
}

#[test]
fn an_added_value_and_a_removed_cell_leave_the_others_paired_by_key() {
    let before = plan(&[BATCH], &[(&["8"], "a"), (&["16"], "b")]);
    let after = plan(&[BATCH], &[(&["16"], "c"), (&["32"], "d")]);
    assert_eq!(pairs(&pairs_of(&before, &after)), [(1, 0, MatchedBy::Key)]);
    let changes = axis_changes(&before, &after);
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (&*changes[0].removed, &*changes[0].added),
        (&["8".to_owned()][..], &["32".to_owned()][..])
    );
    assert!(axis_changes(&before, &before).is_empty());
}

#[test]
fn keys_match_independent_of_order_and_short_names_of_axes() {
    let before = plan(&[BATCH, WORKERS], &[(&["8", "0"], "a"), (&["0", "8"], "b")]);
    let long = ("train.batch-size", "train.batch-size");
    let after = plan(&[WORKERS, long], &[(&["0", "8"], "c"), (&["8", "0"], "d")]);
    assert_eq!(
        pairs(&pairs_of(&before, &after)),
        [(0, 0, MatchedBy::Key), (1, 1, MatchedBy::Key)]
    );
    assert!(axis_changes(&before, &after).is_empty());
}

#[test]
fn a_renamed_value_is_found_by_its_hash() {
    let model = ("model", "train.model");
    let before = plan(&[model], &[(&["unet"], "a"), (&["mlp"], "b")]);
    let after = plan(&[model], &[(&["mlp"], "b"), (&["ddpm-unet"], "a")]);
    assert_eq!(
        pairs(&pairs_of(&before, &after)),
        [(1, 0, MatchedBy::Key), (0, 1, MatchedBy::CellHash)]
    );
}

#[test]
fn a_further_axis_with_one_value_matches_by_the_shared_ones() {
    let before = plan(&[BATCH], &[(&["8"], "a"), (&["16"], "b")]);
    let after = plan(
        &[BATCH, WORKERS],
        &[(&["8", "4"], "c"), (&["16", "4"], "d")],
    );
    let both = [(0, 0, MatchedBy::SharedAxes), (1, 1, MatchedBy::SharedAxes)];
    assert_eq!(pairs(&pairs_of(&before, &after)), both);
    assert_eq!(pairs(&pairs_of(&after, &before)), both);
    let change = &axis_changes(&before, &after)[0];
    assert!(!change.in_before && change.in_after && change.added == ["4"]);
}

#[test]
fn a_further_axis_with_several_values_pairs_what_the_hash_finds_and_nothing_else() {
    let before = plan(&[BATCH], &[(&["8"], "a")]);
    let cells: [(&[&str], &str); 2] = [(&["8", "0"], "a"), (&["8", "4"], "c")];
    let after = plan(&[BATCH, WORKERS], &cells);
    let matching = pairs_of(&before, &after);
    assert_eq!(pairs(&matching), [(0, 0, MatchedBy::CellHash)]);
}

#[test]
fn equal_hashes_are_never_paired_twice() {
    let model = ("model", "train.model");
    let before = plan(&[model], &[(&["one"], "a")]);
    let after = plan(&[model], &[(&["two"], "a"), (&["three"], "a")]);
    let matching = pairs_of(&before, &after);
    assert!(matching.is_empty());
}

#[test]
fn equal_hashes_that_the_shared_axes_tell_apart_are_paired() {
    let model = ("model", "train.model");
    let before = plan(&[model], &[(&["one"], "a"), (&["two"], "a")]);
    let cells: [(&[&str], &str); 2] = [(&["one", "0"], "a"), (&["two", "0"], "a")];
    let after = plan(&[model, WORKERS], &cells);
    let matching = pairs_of(&before, &after);
    assert_eq!(
        pairs(&matching),
        [(0, 0, MatchedBy::SharedAxes), (1, 1, MatchedBy::SharedAxes)]
    );
}

#[test]
fn cells_of_named_matrices_match_within_their_matrix() {
    let matrix = ("matrix", "matrix");
    let cells: [(&[&str], &str); 3] = [
        (&["small", "8", ""], "a"),
        (&["large", "8", "0"], "b"),
        (&["large", "8", "4"], "c"),
    ];
    let before = plan(&[matrix, BATCH, WORKERS], &cells);
    let after = plan(&[matrix, BATCH, WORKERS], &[cells[2], cells[0]]);
    assert_eq!(
        pairs(&pairs_of(&before, &after)),
        [(2, 0, MatchedBy::Key), (0, 1, MatchedBy::Key)]
    );
}

#[test]
fn plans_without_axes_match_their_only_cells() {
    let (before, after) = (plan(&[], &[(&[], "a")]), plan(&[], &[(&[], "b")]));
    assert_eq!(pairs(&pairs_of(&before, &after)), [(0, 0, MatchedBy::Key)]);
}

#[test]
fn along_an_axis_all_other_values_are_equal() {
    let cells: [(&[&str], &str); 5] = [
        (&["8", "0"], "a"),
        (&["8", "4"], "b"),
        (&["16", "4"], "c"),
        (&["16", "0"], "d"),
        (&["32", "0"], "e"),
    ];
    let plan = plan(&[BATCH, WORKERS], &cells);
    let found = pairs_along(&plan, 0, "8", "16");
    let places: Vec<(usize, usize)> = found.iter().map(|p| (p.before, p.after)).collect();
    assert_eq!(places, [(1, 2), (0, 3)]);
    assert!(pairs_along(&plan, 0, "16", "64").is_empty());
}
